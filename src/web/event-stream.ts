import type { ReadableStreamDefaultController, UnderlyingSource } from 'node:stream/web';
import type { Clock, Timer } from '../time/clock.js';

/** So often something is sent at least, in milliseconds: proxies cut a silent connection. */
const HEARTBEAT_MS = 5000;

/** One event: its type and its data, which has no line breaks. */
export type StreamEvent = readonly [type: string, data: string];

/** Where events come from. */
export interface EventSource {
  /** The picture of now; empty where there is none yet. */
  current(): readonly StreamEvent[];
  /** Calls `onNews` when there is another picture, until the function that it gives is called. */
  follow(onNews: () => void): () => void;
}

/**
 * The body of a response with server-sent events
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html). Each event is a whole picture:
 * a reader that is slow misses some, gets the latest, and nothing piles up.
 */
export class EventStream implements UnderlyingSource<Uint8Array> {
  readonly #source: EventSource;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #onEnd: (error?: unknown) => void;
  readonly #encoder = new TextEncoder();
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #stop: (() => void) | undefined;
  #heartbeat: Timer | undefined;
  /** There was news while the reader had not read what is there. */
  #missed = false;
  readonly #onAbort = (): void => this.#end(true);

  /** @param onEnd called once, when the stream is over; with what failed, if that ended it */
  constructor(
    source: EventSource,
    clock: Clock,
    signal: AbortSignal,
    onEnd: (error?: unknown) => void,
  ) {
    this.#source = source;
    this.#clock = clock;
    this.#signal = signal;
    this.#onEnd = onEnd;
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
    this.#stop = this.#source.follow(() => this.#send());
    this.#signal.addEventListener('abort', this.#onAbort);
    if (this.#signal.aborted) return this.#end(true);
    // Headers leave with the first byte.
    this.#write(': redsem\n\n');
    this.#send();
  }

  pull(): void {
    if (this.#missed) this.#send();
  }

  cancel(): void {
    this.#end(false);
  }

  #send(): void {
    this.#missed = (this.#controller?.desiredSize ?? 0) <= 0;
    if (this.#missed) return;
    try {
      const events = this.#source.current();
      const text = events.map(([type, data]) => `event: ${type}\ndata: ${data}\n\n`).join('');
      if (text !== '') this.#write(text);
    } catch (error) {
      this.#end(true, error);
    }
  }

  #write(text: string): void {
    const controller = this.#controller;
    if (controller === undefined) return;
    if ((controller.desiredSize ?? 0) > 0) controller.enqueue(this.#encoder.encode(text));
    this.#heartbeat?.cancel();
    this.#heartbeat = this.#clock.schedule(() => this.#write(': alive\n\n'), HEARTBEAT_MS, false);
  }

  #end(isOpen: boolean, error?: unknown): void {
    const controller = this.#controller;
    if (controller === undefined) return;
    this.#controller = undefined;
    this.#heartbeat?.cancel();
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#stop?.();
    this.#onEnd(error);
    if (isOpen) controller.close();
  }
}
