import { expect } from 'chai';

import { type Handle } from '../../src/index.js';
import { eventually } from './eventually.js';

interface CommandRunner {
  command(...args: string[]): Promise<unknown>;
}

export interface StoredTicket {
  readonly id: string;
  /** Milliseconds since the epoch, by the server's clock. */
  readonly expiresAt: number;
}

/**
 * A semaphore as Redis stores it: read without the package, its slots aside, whose form is free.
 */
export class StoredSemaphore {
  readonly #server: CommandRunner;
  readonly #name: string;

  constructor(server: CommandRunner, name: string) {
    this.#server = server;
    this.#name = name;
  }

  key(part: string): string {
    return `redsem:{${this.#name}}:${part}`;
  }

  /** Milliseconds since the epoch, by the server's clock. */
  async now(): Promise<number> {
    const [seconds = '', micros = ''] = await this.#texts('TIME');
    return Number(seconds) * 1000 + Number(micros) / 1000;
  }

  /** Tickets that have not expired. */
  async tickets(): Promise<StoredTicket[]> {
    const now = await this.now();
    const members = await this.#texts('ZRANGE', this.key('tickets'), '0', '-1', 'WITHSCORES');
    const tickets = members.flatMap((id, i) =>
      i % 2 === 0 && isTicket(id) ? [{ id, expiresAt: Number(members[i + 1]) / 1000 }] : [],
    );
    return tickets.filter(({ expiresAt }) => expiresAt > now);
  }

  /** The last parts of the keys that stand, but for `tickets` without a ticket. */
  async keys(): Promise<string[]> {
    const start = this.key('');
    const keys = (await this.#texts('KEYS', 'redsem:*')).filter((key) => key.startsWith(start));
    const parts = keys.map((key) => key.slice(start.length)).toSorted();
    if (!parts.includes('tickets')) return parts;
    const members = await this.#texts('ZRANGE', this.key('tickets'), '0', '-1');
    return members.some(isTicket) ? parts : parts.filter((part) => part !== 'tickets');
  }

  /** Ids of queued requests, by arrival. */
  async queue(): Promise<string[]> {
    const fields = await this.#texts('HGETALL', this.key('requests'));
    const requests = fields.flatMap((id, i) =>
      i % 2 === 0 ? [{ id, place: fields[i + 1] ?? '' }] : [],
    );
    return requests.toSorted((a, b) => (a.place < b.place ? -1 : 1)).map(({ id }) => id);
  }

  /** No ticket and no queued request is left, now or soon. */
  async expectEmpty(): Promise<void> {
    await eventually(async () => {
      expect([await this.tickets(), await this.queue()]).to.deep.equal([[], []]);
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

  async #texts(...args: string[]): Promise<string[]> {
    return (await this.#server.command(...args)) as string[];
  }
}

/** Beside them is the sign that keeps the key. */
function isTicket(member: string): boolean {
  return /.\../.test(member);
}
