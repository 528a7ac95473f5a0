import type { Clock, Timer } from '../time/clock.js';

/** The longest time without a byte, in milliseconds: proxies cut a silent connection. */
const HEARTBEAT_MS = 5000;

/** An event: its type and its data, which has no line breaks. */
export type StreamEvent = readonly [type: string, data: string];

type Body = ReadableStream<Uint8Array>;

/** Gives the events of a stream, and learns of its end. */
export interface EventSource {
  /** The latest picture; empty before the first look. */
  current(): readonly StreamEvent[];
  /** Calls `onNews` for each new picture, until the returned function is called. */
  follow(onNews: () => void): () => void;
  /** Called once, at the end of the stream; with the error, if an error ended it. */
  end(error?: unknown): void;
}

/**
 * The body of a response with server-sent events
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html). Each event is a whole picture:
 * a slow reader misses some events and gets the latest, so nothing piles up.
 */
export function eventStream(source: EventSource, clock: Clock, signal: AbortSignal): Body {
  const ended = new AbortController();
  let heartbeat: Timer | undefined;
  let send: (() => void) | undefined;
  // News came before the reader had read the last picture.
  let missed = false;
  const end = (error?: unknown): void => {
    ended.abort();
    heartbeat?.cancel();
    source.end(error);
  };
  return new ReadableStream<Uint8Array>({
    start(stream) {
      const close = (error?: unknown): void => {
        end(error);
        stream.close();
      };
      const write = (text: string): void => {
        if ((stream.desiredSize ?? 0) > 0) stream.enqueue(Buffer.from(text));
        heartbeat?.cancel();
        heartbeat = clock.schedule(() => write(': alive\n\n'), HEARTBEAT_MS, false);
      };
      send = () => {
        missed = (stream.desiredSize ?? 0) <= 0;
        if (missed) return;
        try {
          const text = textOf(source.current());
          if (text !== '') write(text);
        } catch (error) {
          close(error);
        }
      };
      ended.signal.addEventListener('abort', source.follow(send));
      if (signal.aborted) return close();
      signal.addEventListener('abort', () => close(), { signal: ended.signal });
      // Headers leave with the first byte.
      write(': redsem\n\n');
      send();
    },
    pull: () => (missed ? send?.() : undefined),
    cancel: () => end(),
  });
}

function textOf(events: readonly StreamEvent[]): string {
  return events.map(([type, data]) => `event: ${type}\ndata: ${data}\n\n`).join('');
}
