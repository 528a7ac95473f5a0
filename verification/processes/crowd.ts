import { expect } from 'chai';

import { type Handle, Semaphore } from '../../src/index.js';
import type { TestServer } from '../../test/support/redis-server.js';
import type { WorkerProcess } from '../../test/support/worker-process.js';
import { type ContenderPool, type Job, runIn, startContenders } from './contender-pool.js';
import { expectFencing, type Interval, peakOf } from './hold-intervals.js';
import { leftKeys, readPeaks } from './holder-count.js';
import { type OpenClient, openClient } from '../../test/support/open-client.js';
import { eventually } from '../../test/support/eventually.js';

const kinds = ['redis', 'ioredis', 'redis', 'ioredis'] as const;
const perProcess = 250;
export const limit = 5;
/** How long a ticket lives until its waiter, told of it, has claimed it, in milliseconds. */
const claimTime = 5000;
/** However busy the machine is, in milliseconds. */
const timeout = 80_000;

export type CrowdOptions = Pick<Job, 'name' | 'hold' | 'apart' | 'ttl'>;

export interface Arrival {
  readonly id: string;
  readonly pid: number;
}

interface Parts {
  readonly server: TestServer;
  readonly client: OpenClient;
  readonly sem: Semaphore;
  readonly gate: Handle;
  readonly results: Map<WorkerProcess, Promise<readonly Interval[]>>;
}

/** Four processes, two with each client package, in which crowds can wait; the first may come by another way. */
export function startFour(url: string, first = url): Promise<ContenderPool> {
  return startContenders(kinds.map((kind, nth) => ({ kind, url: nth === 0 ? first : url })));
}

/** A thousand waiters of one semaphore, in four processes, behind a gate that has all permits. */
export class Crowd {
  /** In the order that Redis recorded. */
  readonly arrivals: readonly Arrival[];
  readonly #parts: Parts;

  static async gather(
    server: TestServer,
    pool: ContenderPool,
    options: CrowdOptions,
  ): Promise<Crowd> {
    const client = await openClient('redis', server.url);
    const sem = new Semaphore(client.target, options.name, { limit });
    const gate = await sem.acquire({ permits: limit });
    const job = { ...options, limit, tasks: perProcess, timeout };
    const results = new Map(pool.workers.map((worker) => [worker, runIn(worker, job)]));
    const size = perProcess * pool.size;
    const waiting = async (): Promise<boolean> => (await sem.inspect()).waiting === size;
    try {
      await Promise.race([eventually(waiting, 'all wait'), anyEnd(results.values())]);
      const { waiters } = await sem.inspect();
      return new Crowd(waiters.map(arrivalOf), { server, client, sem, gate, results });
    } catch (error) {
      await client.close();
      throw error;
    }
  }

  constructor(arrivals: readonly Arrival[], parts: Parts) {
    this.arrivals = arrivals;
    this.#parts = parts;
  }

  get name(): string {
    return this.#parts.sem.name;
  }

  async openGate(): Promise<void> {
    expect(await this.#parts.gate.release()).to.equal(true);
  }

  async waiting(): Promise<number> {
    return Number(await this.#parts.server.command('ZCARD', `redsem:{${this.name}}:queue`));
  }

  /** Waits until so many are left at most. */
  async thinOut(left: number): Promise<void> {
    const what = `no more than ${left} wait`;
    await eventually(async () => (await this.waiting()) <= left, what);
  }

  async kill(worker: WorkerProcess): Promise<void> {
    this.#parts.results.delete(worker);
    worker.kill();
    await worker.exited;
  }

  /** What all processes that were not killed report, once they have served all their callers. */
  async served(): Promise<Interval[]> {
    const intervals = await Promise.all(this.#parts.results.values());
    return intervals.flat();
  }

  /** All of them once, in their order of arrival, never more than the limit, and nothing of them is left. */
  async expectServed(intervals: readonly Interval[], arrivals = this.arrivals): Promise<void> {
    const { server, sem } = this.#parts;
    const arrived = arrivals.map(({ id }) => id);
    const served = intervals.toSorted((a, b) => a.token - b.token).map(({ id }) => id);
    expect(served).to.have.members(arrived);
    // One that does not claim its grant in time, in a process that was held up, is served later.
    expect(inOrder(served, arrived)).to.be.at.least(0.99 * arrived.length);
    expect(peakOf(intervals)).to.be.at.most(limit);
    const { holders, tickets } = await readPeaks(server, this.name);
    expect(holders).to.be.at.most(limit);
    expect(tickets).to.equal(limit);
    expectFencing(intervals);
    await sem.close();
    expect(await leftKeys(server, this.name)).to.deep.equal(['meta']);
    const fields = (await server.command('HKEYS', `redsem:{${this.name}}:meta`)) as string[];
    expect(fields, 'nothing of a ticket or a waiter').to.have.members(['state', 'layout', 'long']);
  }

  /** Of tickets whose holders died: the next call drops them. */
  async dropExpired(): Promise<void> {
    await (await this.#parts.sem.acquire(timeout)).release();
  }

  async close(): Promise<void> {
    await this.#parts.client.close();
  }
}

/** Which part of them was told of its grant, by a push or a reply to another call, and did not find it by asking. */
export function toldShare(intervals: readonly Interval[]): number {
  return intervals.filter(({ life = Infinity }) => life <= claimTime).length / intervals.length;
}

/**
 * Without pushes a process is told only of those that its own releases served: a part of them that follows from the order
 * of arrival. By turns that is a quarter; more where a process was held up, and its callers came all at once.
 */
export function expectPolled(intervals: readonly Interval[], { arrivals }: Crowd): void {
  expect(intervals).to.have.lengthOf.at.least(100);
  const own = new Map<string, number>();
  for (const [nth, { id, pid }] of arrivals.entries()) {
    const before = arrivals.slice(Math.max(0, nth - limit), nth);
    own.set(id, before.filter((one) => one.pid === pid).length / limit);
  }
  const expected =
    intervals.reduce((sum, { id }) => sum + (own.get(id) ?? 0), 0) / intervals.length;
  expect(toldShare(intervals), 'told of their grants').to.be.at.most(expected + 0.2);
}

/** Nearly all of them were told. */
export function expectTold(intervals: readonly Interval[]): void {
  expect(intervals).to.have.lengthOf.at.least(100);
  expect(toldShare(intervals), 'told of their grants').to.be.at.least(0.9);
}

function arrivalOf({ id, label }: { id: string; label: string }): Arrival {
  return { id, pid: Number(label.split(':').pop()) };
}

/** Rejects when a process fails, or is done before the gate was opened. */
async function anyEnd(results: Iterable<Promise<unknown>>): Promise<never> {
  await Promise.race(results);
  throw new Error('a process has served its callers while the gate was closed');
}

/** How many are served in their order of arrival: the length of the longest rising subsequence. */
function inOrder(served: readonly string[], arrivals: readonly string[]): number {
  const place = new Map(arrivals.map((id, index) => [id, index]));
  const ends: number[] = [];
  for (const id of served) {
    const at = place.get(id) ?? -1;
    const next = ends.findIndex((end) => end >= at);
    if (next === -1) ends.push(at);
    else ends[next] = at;
  }
  return ends.length;
}
