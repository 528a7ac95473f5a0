import type { Channel, TracingChannel } from 'node:diagnostics_channel';
import { channel, tracingChannel } from 'node:diagnostics_channel';
import type { LostReason } from './errors.js';

/**
 * Of each message: the semaphore's name and, where there is one, the ticket's id. Times are
 * milliseconds.
 */
interface About {
  /** The semaphore's name. */
  readonly name: string;
  /** The ticket's id. */
  readonly id: string;
}

/**
 * Context of the tracing channel `redsem:acquire`; `result` and `error` are added when it has
 * ended.
 */
export interface AcquireContext {
  /** The semaphore's name. */
  readonly name: string;
  /** How many it asks for. */
  readonly permits: number;
  /** Undefined for `tryAcquire` and for a try for a set, Infinity for no limit. */
  readonly timeout: number | undefined;
}

/** `redsem:wait`: no permit was free, the request waits. */
export interface WaitMessage extends About {
  /** How many it asks for. */
  readonly permits: number;
}

/** `redsem:queue`: how many requests of one `Semaphore` object have no result yet. */
export interface QueueMessage {
  /** The semaphore's name. */
  readonly name: string;
  /** Of that object alone: objects of one name report separately. */
  readonly waiting: number;
}

/** `redsem:grant` */
export interface GrantMessage extends About {
  /** One number for each permit. */
  readonly slots: readonly number[];
  /** As `handle.fencingToken`. */
  readonly fencingToken: number;
  /** Milliseconds since the call of `acquire`. */
  readonly waited: number;
  /** How many times the backend was asked; 0: the ticket was adopted. */
  readonly attempts: number;
}

/** `redsem:extend`: an extension was confirmed, or failed and is tried again. */
export interface ExtendMessage extends About {
  /** Why it failed; undefined: it was confirmed. */
  readonly error: unknown;
}

/** `redsem:lost` */
export interface LostMessage extends About {
  /** As `HandleLostError.reason`. */
  readonly reason: LostReason;
  /** Milliseconds since the grant. */
  readonly heldFor: number;
}

/**
 * `redsem:release`: `handle.release()` was called and has ended, also that of a handle which was
 * lost before.
 */
export interface ReleaseMessage extends About {
  /** What `handle.release()` resolves with. */
  readonly released: boolean;
  /** Until the call. */
  readonly heldFor: number;
  /** Why the handle was lost before the call, if it was. */
  readonly lost: LostReason | undefined;
  /** How long the holder continued after its ticket was gone or had expired; 0: it did not. */
  readonly overrun: number;
  /** Why `release()` rejected, if it did; it is still retried in the background. */
  readonly error: unknown;
}

/**
 * `redsem:drop`: a handle was garbage collected without `release()`; its ticket is left to expire.
 */
export type DropMessage = About;

/** `redsem:mismatch`: another process uses the name with another limit. */
export interface MismatchMessage {
  /** The semaphore's name. */
  readonly name: string;
  /** The limit of this object. */
  readonly limit: number;
  /** The limit of the other process. */
  readonly otherLimit: number;
}

/** One of Node's diagnostics channels, with the type of its messages. */
class MessageChannel<Message> {
  readonly #channel: Channel;

  constructor(name: string) {
    this.#channel = channel(name);
  }

  /** Whether anybody listens: look before a message is made, for then it costs nothing. */
  get active(): boolean {
    return this.#channel.hasSubscribers;
  }

  publish(message: Message): void {
    this.#channel.publish(message);
  }
}

/** What can be followed from outside, see https://nodejs.org/api/diagnostics_channel.html. */
class Telemetry {
  readonly acquire: TracingChannel<string, AcquireContext> = tracingChannel('redsem:acquire');
  readonly wait: MessageChannel<WaitMessage> = new MessageChannel('redsem:wait');
  readonly queue: MessageChannel<QueueMessage> = new MessageChannel('redsem:queue');
  readonly grant: MessageChannel<GrantMessage> = new MessageChannel('redsem:grant');
  readonly extend: MessageChannel<ExtendMessage> = new MessageChannel('redsem:extend');
  readonly lost: MessageChannel<LostMessage> = new MessageChannel('redsem:lost');
  readonly release: MessageChannel<ReleaseMessage> = new MessageChannel('redsem:release');
  readonly drop: MessageChannel<DropMessage> = new MessageChannel('redsem:drop');
  readonly mismatch: MessageChannel<MismatchMessage> = new MessageChannel('redsem:mismatch');
}

export const telemetry: Telemetry = new Telemetry();

/**
 * Publishes one try for a set of semaphores as a call of each, with the result in its place; null
 * where one was not free.
 */
export async function traceEach<R>(
  contexts: readonly AcquireContext[],
  call: Promise<readonly R[] | null>,
): Promise<readonly R[] | null> {
  const traced = contexts.map((context, i) =>
    telemetry.acquire.tracePromise(async () => (await call)?.[i] ?? null, context),
  );
  await Promise.all(traced);
  return call;
}
