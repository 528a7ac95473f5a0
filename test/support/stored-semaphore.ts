import { expect } from 'chai';

import { type Handle } from '../../src/index.js';
import { eventually } from './eventually.js';

interface CommandRunner {
  command(...args: string[]): Promise<unknown>;
}

/** A semaphore as Redis stores it, read without the package; the form of its slots is free. */
export class StoredSemaphore {
  readonly #server: CommandRunner;
  readonly #name: string;

  constructor(server: CommandRunner, name: string) {
    this.#server = server;
    this.#name = name;
  }

  /** Milliseconds since the epoch, by the server's clock. */
  async now(): Promise<number> {
    const [seconds = '', micros = ''] = await this.#texts('TIME');
    return Number(seconds) * 1000 + Number(micros) / 1000;
  }

  /** The ids of the tickets that have not expired. */
  async tickets(): Promise<string[]> {
    const micros = String(Math.floor(1000 * (await this.now())));
    const members = await this.#texts('ZRANGEBYSCORE', this.#key('tickets'), `(${micros}`, 'inf');
    return members.filter(isTicket);
  }

  /** The last parts of the keys that stand, but for `tickets` without a ticket. */
  async keys(): Promise<string[]> {
    const start = this.#key('');
    const keys = (await this.#texts('KEYS', 'redsem:*')).filter((key) => key.startsWith(start));
    const members = await this.#texts('ZRANGE', this.#key('tickets'), '0', '-1');
    const parts = keys.map((key) => key.slice(start.length)).toSorted();
    return parts.filter((part) => part !== 'tickets' || members.some(isTicket));
  }

  /** Ids of queued requests, by arrival. */
  async queue(): Promise<string[]> {
    const fields = await this.#texts('HGETALL', this.#key('requests'));
    const requests = fields.flatMap((id, i) =>
      i % 2 === 0 ? [{ id, place: fields[i + 1] ?? '' }] : [],
    );
    return requests.toSorted((a, b) => (a.place < b.place ? -1 : 1)).map(({ id }) => id);
  }

  /** No ticket and no queued request is left, now or soon. */
  async expectEmpty(): Promise<void> {
    await this.expectHeldBy([]);
    await eventually(async () => expect(await this.queue()).to.deep.equal([]));
  }

  /** Redis counts exactly these handles, now or soon. */
  async expectHeldBy(handles: readonly Handle[]): Promise<void> {
    const ids = handles.map(({ id }) => id);
    await eventually(async () => expect(await this.tickets()).to.have.members(ids));
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

  #key(part: string): string {
    return `redsem:{${this.#name}}:${part}`;
  }

  async #texts(...args: string[]): Promise<string[]> {
    return (await this.#server.command(...args)) as string[];
  }
}

/** Beside them is the sign that keeps the key. */
function isTicket(member: string): boolean {
  return /.\../.test(member);
}
