import type { Detail, ListSnapshot } from '../../api-types.js';
import { authorization } from './requests.js';

export interface FeedListener {
  /** The stream is open. */
  opened(): void;
  list(snapshot: ListSnapshot): void;
  detail(detail: Detail): void;
  /** The stream has ended or cannot be opened, for this reason. The feed tries again. */
  lost(reason: string): void;
  /** The server wants a token, or another token. The feed stops until the next `watch`. */
  locked(): void;
}

/** After this time without a byte the connection counts as dead: it may be half open. */
const SILENCE_MS = 10_000;
const RETRY_MS = [300, 1000, 2000, 4000] as const;

/** Keeps a stream of events open, and opens it again after each loss. */
export class Feed {
  readonly #listener: FeedListener;
  #running = new AbortController();

  constructor(listener: FeedListener) {
    this.#listener = listener;
  }

  /** Follows the list, and the named semaphore, too, from a new stream. */
  watch(name?: string): void {
    this.stop();
    this.#running = new AbortController();
    const query = name === undefined ? '' : `?name=${encodeURIComponent(name)}`;
    void this.#run(`api/events${query}`, this.#running.signal);
  }

  stop(): void {
    this.#running.abort();
  }

  async #run(address: string, stopped: AbortSignal): Promise<void> {
    for (let failures = 0; !stopped.aborted; failures += 1) {
      let reason = 'The stream of events has ended.';
      try {
        await this.#follow(address, stopped, () => (failures = 0));
      } catch (error) {
        reason = error instanceof Error ? error.message : String(error);
      }
      if (stopped.aborted) return;
      this.#listener.lost(reason);
      const pause = RETRY_MS[Math.min(failures, RETRY_MS.length - 1)];
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  /** @param works called for each event */
  async #follow(address: string, stopped: AbortSignal, works: () => void): Promise<void> {
    const silent = new AbortController();
    const waitForNews = (): number => setTimeout(() => silent.abort(), SILENCE_MS);
    let alarm = waitForNews();
    try {
      // `EventSource` cannot send a token.
      const headers = { accept: 'text/event-stream', ...authorization() };
      const signal = AbortSignal.any([stopped, silent.signal]);
      const { status, ok, body } = await fetch(address, { headers, cache: 'no-store', signal });
      if (status === 401) {
        this.stop();
        return this.#listener.locked();
      }
      if (!ok || body === null) throw new Error(`HTTP ${status}`);
      this.#listener.opened();
      const reader = body.pipeThrough(new TextDecoderStream()).getReader();
      let unread = '';
      for (;;) {
        const { done, value } = await reader.read();
        if (done || stopped.aborted) return;
        // Also after a comment, which only keeps the stream open.
        clearTimeout(alarm);
        alarm = waitForNews();
        const blocks = (unread + value).split('\n\n');
        unread = blocks.pop() ?? '';
        for (const block of blocks) if (this.#deliver(block)) works();
      }
    } finally {
      clearTimeout(alarm);
    }
  }

  /** An event of this server is a line with its type and a line with its data. */
  #deliver(block: string): boolean {
    const [, type, data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? [];
    if (type === 'list') this.#listener.list(JSON.parse(data) as ListSnapshot);
    if (type === 'detail') this.#listener.detail(JSON.parse(data) as Detail);
    return type !== undefined;
  }
}
