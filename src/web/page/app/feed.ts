import type { Detail, ListSnapshot } from '../../api-types.js';
import { type StreamEvent, readEvents } from './event-stream.js';
import { authorization } from './token.js';

export interface FeedListener {
  /** The stream is open. */
  opened(): void;
  list(snapshot: ListSnapshot): void;
  detail(detail: Detail): void;
  /** The stream has ended or cannot be opened: why. It is tried again by itself. */
  lost(reason: string): void;
  /** The server wants a token, or another one. Nothing is tried until `watch` is called again. */
  locked(): void;
}

/** After this long without a byte the connection counts as dead: it may be half open. */
const SILENCE_MS = 10_000;
const RETRY_MS = [300, 1000, 2000, 4000] as const;

/** Keeps one stream of events open, and opens it again after each loss. */
export class Feed {
  readonly #listener: FeedListener;
  #running: AbortController | undefined;
  #retryNow: (() => void) | undefined;

  constructor(listener: FeedListener) {
    this.#listener = listener;
  }

  /** Follows the list, and one semaphore too where a name is given. */
  watch(name?: string): void {
    this.stop();
    this.#running = new AbortController();
    void this.#run(name, this.#running.signal);
  }

  stop(): void {
    this.#running?.abort();
    this.#running = undefined;
  }

  /** Ends the pause before the next try, if there is one. */
  retry(): void {
    this.#retryNow?.();
  }

  async #run(name: string | undefined, stopped: AbortSignal): Promise<void> {
    const query = name === undefined ? '' : `?name=${encodeURIComponent(name)}`;
    for (let failures = 0; !stopped.aborted; failures += 1) {
      let reason = 'The stream of events has ended.';
      try {
        const response = await this.#follow(`api/events${query}`, stopped, () => (failures = 0));
        if (response === 'locked') return this.#listener.locked();
      } catch (error) {
        reason = error instanceof Error ? error.message : String(error);
      }
      if (stopped.aborted) return;
      this.#listener.lost(reason);
      await this.#pause(RETRY_MS[Math.min(failures, RETRY_MS.length - 1)] ?? 0, stopped);
    }
  }

  async #follow(
    address: string,
    stopped: AbortSignal,
    works: () => void,
  ): Promise<'ended' | 'locked'> {
    const silence = new AbortController();
    let alarm = 0;
    const heard = (): void => {
      clearTimeout(alarm);
      alarm = setTimeout(() => silence.abort(), SILENCE_MS);
    };
    const end = (): void => silence.abort();
    stopped.addEventListener('abort', end);
    try {
      heard();
      const headers = { accept: 'text/event-stream', ...authorization() };
      const response = await fetch(address, { headers, cache: 'no-store', signal: silence.signal });
      if (response.status === 401) return 'locked';
      if (!response.ok || response.body === null) throw new Error(`HTTP ${response.status}`);
      this.#listener.opened();
      for await (const event of readEvents(response.body, heard)) {
        works();
        if (!stopped.aborted) this.#deliver(event);
      }
      return 'ended';
    } finally {
      clearTimeout(alarm);
      stopped.removeEventListener('abort', end);
    }
  }

  #deliver({ type, data }: StreamEvent): void {
    if (type === 'list') this.#listener.list(JSON.parse(data) as ListSnapshot);
    if (type === 'detail') this.#listener.detail(JSON.parse(data) as Detail);
  }

  #pause(ms: number, stopped: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#retryNow = () => {
        clearTimeout(timer);
        resolve();
      };
      stopped.addEventListener('abort', this.#retryNow, { once: true });
    });
  }
}
