import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type * as telemetry from '../telemetry-messages.js';

/**
 * A call that has ended. `result` is a handle, null if no permit was free, undefined after an
 * error.
 */
export interface EndedAcquire extends telemetry.AcquireContext {
  readonly result?: { readonly id: string } | null;
  readonly error?: unknown;
}

/** Channels by their names, so that every copy of the package in a process is heard. */
interface Messages {
  'tracing:redsem:acquire:start': telemetry.AcquireContext;
  'tracing:redsem:acquire:asyncStart': EndedAcquire;
  'redsem:wait': telemetry.WaitMessage;
  'redsem:grant': telemetry.GrantMessage;
  'redsem:extend': telemetry.ExtendMessage;
  'redsem:lost': telemetry.LostMessage;
  'redsem:release': telemetry.ReleaseMessage;
  'redsem:drop': telemetry.DropMessage;
  'redsem:mismatch': telemetry.MismatchMessage;
}

interface Heard {
  heard(this: void, message: unknown): void;
}

/** Subscriptions that end together. */
export class Subscriptions {
  readonly #undo: (() => void)[] = [];

  on<Name extends keyof Messages>(name: Name, listener: (message: Messages[Name]) => void): void {
    // The compiler does not know the messages of a channel. The publisher declares them as this
    // type.
    const { heard }: Heard = { heard: listener };
    subscribe(name, heard);
    this.#undo.push(() => unsubscribe(name, heard));
  }

  end(): void {
    for (const undo of this.#undo.splice(0)) undo();
  }
}
