import { expect } from 'chai';

import type { Handle } from '../../src/index.js';
import { eventually } from '../../test/support/eventually.js';
import type { TestServer } from '../../test/support/redis-server.js';

/** A semaphore as Redis stores it, read without the package; the form of its slots is free. */
export class StoredSemaphore {
  readonly #server: Pick<TestServer, 'command'>;
  readonly #start: string;

  constructor(server: Pick<TestServer, 'command'>, name: string) {
    this.#server = server;
    this.#start = `redsem:{${name}}:`;
  }

  /** The ids of the tickets that have not expired by the server's clock. */
  async tickets(): Promise<string[]> {
    const [seconds = '', micros = ''] = await this.#texts('TIME');
    return this.#ticketsFrom(`(${seconds}${micros.padStart(6, '0')}`);
  }

  /** The last parts of the keys that stand, but for `tickets` without a ticket. */
  async keys(): Promise<string[]> {
    const keys = await this.#texts('KEYS', `${this.#start}*`);
    const isEmpty = (await this.#ticketsFrom('-inf')).length === 0;
    const parts = keys.map((key) => key.slice(this.#start.length)).toSorted();
    return parts.filter((part) => part !== 'tickets' || !isEmpty);
  }

  /** The ids of the queued requests, once `count` requests wait. */
  untilQueued(count: number): Promise<string[]> {
    return eventually(async () => {
      const queue = await this.#texts('HKEYS', `${this.#start}requests`);
      expect(queue).to.have.length(count);
      return queue;
    });
  }

  /** No ticket and no queued request is left, now or soon. */
  async expectEmpty(): Promise<void> {
    await this.expectHeldBy([]);
    await this.untilQueued(0);
  }

  /** Redis counts exactly these handles, now or soon. */
  async expectHeldBy(handles: readonly Handle[]): Promise<void> {
    const ids = handles.map(({ id }) => id);
    await eventually(async () => expect(await this.tickets()).to.have.members(ids));
  }

  /** The channel of a client, once its only request is queued, and it listens for grants. */
  untilListening(): Promise<string> {
    return eventually(async () => {
      const [id = ''] = await this.untilQueued(1);
      const inbox = `redsem:inbox:${id.split('.')[0]}`;
      expect(await this.#texts('PUBSUB', 'CHANNELS')).to.include(inbox);
      return inbox;
    });
  }

  /** Beside the tickets is the sign that keeps the key. */
  async #ticketsFrom(least: string): Promise<string[]> {
    const range = [`${this.#start}tickets`, least, 'inf'];
    const members = await this.#texts('ZRANGEBYSCORE', ...range);
    return members.filter((member) => /.\../.test(member));
  }

  async #texts(...args: string[]): Promise<string[]> {
    return (await this.#server.command(...args)) as string[];
  }
}
