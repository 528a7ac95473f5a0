import { expect } from 'chai';

import { type Handle, type RedisConnection, Semaphore } from '../../src/index.js';
import { keysOf } from '../../src/redis/keys.js';
import { eventually } from './eventually.js';

/** The last part of every key of a semaphore. */
export const keyParts = keysOf({ prefix: 'redsem', name: '' }).map((key) => key.slice(10));

interface CommandRunner {
  command(...args: string[]): Promise<unknown>;
}

export interface StoredTicket {
  readonly id: string;
  /** Milliseconds since the epoch, by the server's clock. */
  readonly expiresAt: number;
}

/** A semaphore as it stands in Redis: read without the package, its slots aside, whose form is free. */
export class StoredSemaphore {
  readonly #server: CommandRunner;
  readonly #name: string;
  readonly #reader: Semaphore;

  constructor(server: CommandRunner, name: string) {
    this.#server = server;
    this.#name = name;
    this.#reader = new Semaphore(connectionOf(server), name, { limit: 1 });
  }

  key(part: string): string {
    return `redsem:{${this.#name}}:${part}`;
  }

  /** Tickets that have not expired. */
  async tickets(): Promise<StoredTicket[]> {
    const now = await this.#now();
    const entries = await this.#texts('ZRANGE', this.key('tickets'), '0', '-1', 'WITHSCORES');
    const tickets: StoredTicket[] = [];
    for (let index = 0; index < entries.length; index += 2) {
      const [id = '', score = ''] = entries.slice(index, index + 2);
      if (Number(score) <= now) continue;
      tickets.push({ id, expiresAt: Number(score) / 1000 });
    }
    return tickets;
  }

  /** Ids of queued requests, the first one to be served first. */
  queue(): Promise<string[]> {
    return this.#texts('ZRANGE', this.key('queue'), '0', '-1');
  }

  /** Ends a ticket's life without telling anybody: its expiry is set into the past. */
  async expire(id: string): Promise<void> {
    await this.#server.command('ZADD', this.key('tickets'), '1', id);
  }

  /** The raw values of all keys but the one left out, to be compared as a whole. */
  async dump(leftOut?: string): Promise<unknown[]> {
    const parts = keyParts.filter((part) => part !== leftOut);
    return Promise.all(parts.map((part) => this.#server.command('DUMP', this.key(part))));
  }

  /** No ticket and no queued request is left, now or soon. */
  async expectEmpty(): Promise<void> {
    await eventually(async () => {
      expect({ tickets: await this.tickets(), queue: await this.queue() }).to.deep.equal({
        tickets: [],
        queue: [],
      });
    });
  }

  /** Redis counts exactly these handles, now or soon. */
  async expectHeldBy(handles: readonly Handle[]): Promise<void> {
    await eventually(async () => {
      const ids = (await this.tickets()).map(({ id }) => id);
      expect(ids).to.have.members(handles.map(({ id }) => id));
    });
  }

  /** One request is queued, and its client listens for grants. */
  async expectListening(): Promise<void> {
    await eventually(async () => {
      const queue = await this.queue();
      expect(queue).to.have.length(1);
      const inbox = `redsem:inbox:${queue[0]?.split('.')[0]}`;
      expect(await this.#texts('PUBSUB', 'CHANNELS')).to.include(inbox);
    });
  }

  /** At most so many permits are held, each with a slot of its own below the limit. */
  async expectWithin(limit: number): Promise<void> {
    const { holders } = await this.#reader.inspect();
    const slots = holders.flatMap((holder) => holder.slots);
    expect((await this.tickets()).length).to.be.at.most(limit);
    expect(slots.length).to.be.at.most(limit);
    expect(new Set(slots).size).to.equal(slots.length);
    for (const slot of slots) expect(slot).to.be.within(0, limit - 1);
  }

  async #now(): Promise<number> {
    const [seconds = '', micros = ''] = await this.#texts('TIME');
    return Number(seconds) * 1_000_000 + Number(micros);
  }

  async #texts(...args: string[]): Promise<string[]> {
    return (await this.#server.command(...args)) as string[];
  }
}

function connectionOf(server: CommandRunner): RedisConnection {
  const run =
    (command: string) =>
    (script: string, keys: readonly string[], args: readonly string[]): Promise<unknown> =>
      server.command(command, script, String(keys.length), ...keys, ...args);
  return { runBySha: run('EVALSHA'), runByText: run('EVAL') };
}
