import { expect } from 'chai';

import type { TestServer } from '../../test/support/redis-server.js';
import type { WorkerProcess } from '../../test/support/worker-process.js';
import type { ContenderPool } from './contender-pool.js';
import type { Arrival, Crowd } from './crowd.js';
import { claimTime, expectBack, leaseOf, ticketsOf } from './crowd-tickets.js';
import type { Interval } from './hold-intervals.js';
import { whileRepeating } from './repeat.js';
import { liveTickets, serverTime } from './server-records.js';
import { eventually } from '../../test/support/eventually.js';

/** Microseconds. */
const waiterLease = 5_000_000;

/** One process of a crowd whose gate is closed, its waiters, and those of the others. */
export interface Split {
  readonly worker: WorkerProcess;
  readonly dead: ReadonlySet<string>;
  readonly living: readonly Arrival[];
}

/** How a process dies, and what becomes of its waiters and of all others; gives what the others report. */
export interface Death {
  readonly title: string;
  /** Milliseconds; so long that the others are not done before it has been dead for all its lease and a claim time. */
  readonly hold: number;
  readonly check: (
    server: TestServer,
    crowd: Crowd,
    pool: ContenderPool,
  ) => Promise<readonly Interval[]>;
}

export const DEATHS: readonly Death[] = [
  {
    title: 'while queued: those of the others are served, and no permit goes to its own',
    hold: 5,
    check: checkDeathInQueue,
  },
  {
    title: 'between grant and claim: its permits come back after the claim time',
    hold: 15,
    check: checkDeathBeforeClaim,
  },
];

/** By default the process of the one who came first. */
export function split(
  pool: ContenderPool,
  { arrivals }: Crowd,
  pid: number | undefined = arrivals[0]?.pid,
): Split {
  const worker = pool.workers.find((one) => one.pid === pid) as WorkerProcess;
  const dead = new Set(arrivals.filter((one) => one.pid === pid).map(({ id }) => id));
  const living = arrivals.filter((one) => one.pid !== pid);
  return { worker, dead, living };
}

/** Opens the gate while the process is stopped, until it has a permit that it does not know of. */
export async function grantWhilePaused(
  server: TestServer,
  crowd: Crowd,
  { worker, dead }: Split,
): Promise<void> {
  worker.pause();
  // Calls that it has sent run before this one: behind the gate they would be claims.
  await crowd.waiting();
  await crowd.openGate();
  await eventually(async () => {
    return (await ticketsOf(server, crowd, dead)).length > 0;
  }, 'it is granted a permit');
}

export async function expectOthersServed(
  server: TestServer,
  crowd: Crowd,
  intervals: readonly Interval[],
  living: readonly Arrival[],
): Promise<void> {
  await eventually(
    async () => (await liveTickets(server, crowd.name)) === 0,
    'no dead one has a ticket',
  );
  await crowd.dropExpired();
  await crowd.expectServed(intervals, living);
}

async function checkDeathInQueue(
  server: TestServer,
  crowd: Crowd,
  pool: ContenderPool,
): Promise<readonly Interval[]> {
  const { worker, dead, living } = split(pool, crowd);
  await crowd.kill(worker);
  const lease = await leaseOf(server, crowd, dead);
  await eventually(async () => (await serverTime(server)) > lease, 'its lease is over');
  const { value, results } = await whileRepeating(
    10,
    async () => (await ticketsOf(server, crowd, dead)).length,
    async () => {
      await crowd.openGate();
      return crowd.served();
    },
  );
  // A permit that went to one of the dead would stay with it for the claim time.
  expect(Math.max(...results)).to.equal(0);
  await crowd.expectServed(value, living);
  return value;
}

async function checkDeathBeforeClaim(
  server: TestServer,
  crowd: Crowd,
  pool: ContenderPool,
): Promise<readonly Interval[]> {
  const parts = split(pool, crowd);
  await grantWhilePaused(server, crowd, parts);
  const lost = await ticketsOf(server, crowd, parts.dead);
  const lease = await leaseOf(server, crowd, parts.dead);
  expect(lease - (await serverTime(server)), 'waiter lease').to.be.at.most(waiterLease);
  await crowd.kill(parts.worker);
  const intervals = await crowd.served();
  for (const ticket of lost) {
    expect(ticket.expiry - ticket.granted, 'claim time').to.equal(claimTime);
    expectBack(ticket, lease, intervals);
  }
  await expectOthersServed(server, crowd, intervals, parts.living);
  return intervals;
}
