import type { Connection, Release } from '../peers/adapter.js';

const ttl = 600_000;

/**
 * Before the first hand-off and after the last, a caller holds the only permit and another waits.
 */
export class HandOffs {
  #held: Release | undefined;
  #waiting: Promise<Release> | undefined;

  async run(connection: Connection, name: string, count: number): Promise<void> {
    const ask = (): Promise<Release> => connection.acquire(name, 1, ttl);
    this.#held ??= await ask();
    this.#waiting ??= ask();
    for (let done = 0; done < count; done += 1) {
      const next = ask();
      await this.#held();
      this.#held = await this.#waiting;
      this.#waiting = next;
    }
  }
}
