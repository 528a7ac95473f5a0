import type { Clock, Timer } from '../time/clock.js';

/** So often something is sent at least, in milliseconds: proxies cut a silent connection. */
const HEARTBEAT_MS = 5000;

/** One event: its type and its data, which has no line breaks. */
export type StreamEvent = readonly [type: string, data: string];

type Body = ReadableStream<Uint8Array>;

/** Where events come from, and what learns of the end of the stream. */
export interface EventSource {
  /** The picture of now; empty where there is none yet. */
  current(): readonly StreamEvent[];
  /** Calls `onNews` when there is another picture, until the function that it gives is called. */
  follow(onNews: () => void): () => void;
  /** Called once, when the stream is over; with what failed, if that ended it. */
  end(error?: unknown): void;
}

/**
 * The body of a response with server-sent events
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html). Each event is a whole picture:
 * a reader that is slow misses some, gets the latest, and nothing piles up.
 */
export function eventStream(source: EventSource, clock: Clock, signal: AbortSignal): Body {
  const ended = new AbortController();
  let heartbeat: Timer | undefined;
  let send: (() => void) | undefined;
  // News came before the reader had read the last.
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
