import { expect } from 'chai';

import type { TestServer } from '../../test/support/redis-server.js';
import type { Crowd } from './crowd.js';
import type { Interval } from './hold-intervals.js';
import { ticketsKey } from './holder-count.js';
import { expiryOf } from './server-records.js';

/** Microseconds. */
export const claimTime = 5_000_000;
/** For the server and other processes, which other load may hold up, in microseconds. */
const slack = 1_000_000;

export interface Ticket {
  readonly slot: number;
  /** Microseconds. */
  readonly granted: number;
  readonly expiry: number;
}

/** Until when the waiters of these, who are of one process, count as alive. */
export async function leaseOf(
  server: TestServer,
  { name }: Crowd,
  dead: ReadonlySet<string>,
): Promise<number> {
  const [client = ''] = [...dead][0]?.split('.') ?? [];
  return Number(await server.command('ZSCORE', `redsem:{${name}}:waiters`, client));
}

export async function ticketsOf(
  server: TestServer,
  { name }: Crowd,
  ids: ReadonlySet<string>,
): Promise<Ticket[]> {
  const all = (await server.command('ZRANGE', ticketsKey(name), '0', '-1')) as string[];
  return Promise.all(
    all
      .filter((id) => ids.has(id))
      .map(async (id) => {
        const record = String(await server.command('HGET', `redsem:{${name}}:meta`, id));
        const [slot = NaN, , granted = NaN] = record.split(' ').map(Number);
        return { slot, granted, expiry: (await expiryOf(server, name, id)) ?? NaN };
      }),
  );
}

/** Its slot was given to another once it had expired, and soon. */
export function expectBack(ticket: Ticket, lease: number, intervals: readonly Interval[]): void {
  const { slot, granted, expiry } = ticket;
  // A token is the time of its grant.
  const tokens = intervals.filter((one) => one.slot === slot).map(({ token }) => token);
  const next = Math.min(...tokens.filter((token) => token > granted));
  expect(next, `next token on slot ${slot}`).to.be.at.least(expiry);
  // More of the dead may be granted it until their lease is over.
  expect(next).to.be.below(Math.max(lease, expiry) + claimTime + slack);
}
