import type { EndedTicket, PushedGrant, PushedTurn } from '../../src/backends/backend.js';
import type { RedisFixture } from './port-fixture.js';

/** Gets the messages that are pushed to clients. */
export interface PushReader {
  pushGrants(client: string, grants: readonly PushedGrant[], name: string): void;
  pushEnded(client: string, ended: readonly EndedTicket[], name: string): void;
  pushTurn(client: string, turn: PushedTurn, name: string): void;
}

/** What Redis pushes to some clients: one subscription for each. */
export class Pushes {
  /** Reads the messages from now on. */
  reader: PushReader | undefined;
  readonly #redis: RedisFixture;
  readonly #clients: readonly string[];
  #arrived = 0;
  #onLast = (): void => {};

  constructor(redis: RedisFixture, clients: readonly string[]) {
    this.#redis = redis;
    this.#clients = clients;
  }

  async open(): Promise<void> {
    for (const client of this.#clients) await this.#subscribe(client);
  }

  /**
   * What is pushed to a client comes in order: after the grants of one more semaphore there is
   * nothing more.
   */
  async allIn(): Promise<void> {
    const redis = this.#redis;
    const limit = this.#clients.length;
    redis.moveTo('last', limit);
    this.#arrived = 0;
    const last = new Promise<void>((resolve) => (this.#onLast = resolve));
    await redis.take(`z.1.${limit}`);
    for (const client of this.#clients) await redis.acquire(`${client}.last`);
    await redis.release(`z.1.${limit}`);
    await redis.release(this.#clients.map((client) => `${client}.last`));
    await last;
  }

  #subscribe(client: string): Promise<void> {
    return new Promise((resolve) => {
      this.#redis.listen(client, {
        onGrants: (grants, name) => {
          if (name === 'last') this.#arrived += 1;
          if (this.#arrived === this.#clients.length) this.#onLast();
          if (name !== 'last') this.reader?.pushGrants(client, grants, name);
        },
        onEnded: (ended, name) => {
          if (name !== 'last') this.reader?.pushEnded(client, ended, name);
        },
        onTurn: (turn, name) => this.reader?.pushTurn(client, turn, name),
        onHealth: () => resolve(),
      });
    });
  }
}
