import type { Connection, Release } from '../peers/adapter.js';

export interface RotationTask {
  readonly name: string;
  readonly limit: number;
  /** How many permits stay held. */
  readonly held: number;
  readonly count: number;
}

const ttl = 600_000;

/** Each permit that is taken is followed by the release of the oldest: the lowest slot is free. */
export class Rotation {
  readonly #releases: Release[] = [];

  async run(connection: Connection, { name, limit, held, count }: RotationTask): Promise<void> {
    const take = async () => void this.#releases.push(await connection.acquire(name, limit, ttl));
    while (this.#releases.length < held) await take();
    for (let done = 0; done < count; done += 1) {
      await take();
      await this.#releases.shift()?.();
    }
  }
}
