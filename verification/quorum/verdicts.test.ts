import { expect } from 'chai';

import type { RedisConnection } from '../../src/index.js';
import { BackendError, QuorumError, Semaphore, systemClock } from '../../src/index.js';
import { shuffle } from '../../src/quorum/tally.js';
import { type ClientKind, type OpenClient, openClient } from '../../test/support/open-client.js';
import { startServer, type TestServer } from '../../test/support/redis-server.js';
import { inTurns } from './in-turns.js';
import {
  anotherDoor,
  combinations,
  type Condition,
  deniedNode,
} from '../../test/quorum/mixed-nodes.js';
import { describeWithMasters } from '../../test/quorum/servers.js';

/** A tenth of it is the time that a node has to answer. */
const ttl = 6000;

/** So many subsets at a time. */
const AT_ONCE = 40;

type Verdict = 'granted' | 'busy' | 'no quorum' | 'denied';

/** What §7 of the contract wants. */
function expected(nodes: readonly Condition[]): Verdict {
  const count = (...of: Condition[]): number => nodes.filter((node) => of.includes(node)).length;
  const majority = Math.floor(nodes.length / 2) + 1;
  if (count('up') >= majority) return 'granted';
  if (count('up', 'full') >= majority) return 'busy';
  return nodes.length - count('denied') >= majority ? 'no quorum' : 'denied';
}

/** Nodes of every kind, out of which each subset is put together. */
class World {
  readonly #kind: ClientKind;
  readonly #clients: OpenClient[] = [];
  readonly #broken: TestServer[] = [];
  #live: OpenClient[] = [];
  #dead: OpenClient | undefined;
  #hung: OpenClient | undefined;
  #names = 0;

  constructor(kind: ClientKind) {
    this.#kind = kind;
  }

  async open(live: readonly TestServer[]): Promise<void> {
    this.#live = await Promise.all(live.map(async ({ url }) => this.#connect(url)));
    const [dead, hung] = [await startServer(), await startServer()];
    this.#broken.push(dead, hung);
    this.#dead = await this.#connect(dead.url);
    this.#hung = await this.#connect(hung.url);
    await dead.kill();
    hung.pause();
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close().catch(() => undefined)));
    await Promise.all(this.#broken.map((server) => server.stop()));
  }

  /** One try, on fresh names, and what is left behind it on the nodes that are up. */
  async tryOn(subset: readonly Condition[]): Promise<Verdict> {
    this.#names += 1;
    const name = `${this.#kind}-${this.#names}`;
    const fillers = await this.#fill(subset, name);
    const nodes = subset.map((condition, i) => this.#node(condition, i));
    const semaphore = new Semaphore(nodes, name, { limit: 1, ttl });
    const verdict = await verdictOf(semaphore, subset.length);
    await Promise.all(fillers.map((filler) => filler.close()));
    return verdict;
  }

  /** Somebody else has the slot there. */
  async #fill(subset: readonly Condition[], name: string): Promise<Semaphore[]> {
    const fillers: Semaphore[] = [];
    for (const [i, condition] of subset.entries()) {
      if (condition !== 'full') continue;
      const other = new Semaphore([this.#node('up', i)], name, { limit: 1, ttl: 30_000 });
      await other.acquire(5000);
      fillers.push(other);
    }
    return fillers;
  }

  #node(condition: Condition, i: number): RedisConnection {
    if (condition === 'denied') return deniedNode();
    const at = { up: this.#live[i], full: this.#live[i], dead: this.#dead, hung: this.#hung };
    const client = at[condition];
    if (client === undefined) throw new Error('the world is not open');
    return anotherDoor(client.target);
  }

  async #connect(url: string): Promise<OpenClient> {
    const client = await openClient(this.#kind, url);
    this.#clients.push(client);
    return client;
  }
}

describeWithMasters('what nodes are like decides', 5, (masters) => {
  for (const kind of ['redis', 'ioredis'] as const) {
    describe(`over clients of ${kind}`, () => {
      const world = new World(kind);

      before(() => world.open(masters().servers));
      after(() => world.close());

      for (const nodes of [2, 3, 4]) {
        it(`each subset of ${nodes} that are up, dead, hung or full gets its verdict`, async () => {
          const subsets = combinations(nodes, ['up', 'dead', 'hung', 'full']);
          await inTurns(subsets, AT_ONCE, async (subset) => {
            expect(await world.tryOn(subset), subset.join(' ')).to.equal(expected(subset));
          });
        });
      }

      it('each choice of 5 that are up, dead, hung or full gets its verdict, whatever their order', async () => {
        const choices = combinations(5, ['up', 'dead', 'hung', 'full']);
        const ordered = new Map(choices.map((choice) => [choice.toSorted().join(), choice]));
        await inTurns([...ordered.values()], AT_ONCE, async (choice) => {
          const subset = shuffle(choice, systemClock);
          expect(await world.tryOn(subset), subset.join(' ')).to.equal(expected(subset));
        });
      });

      it('each subset of 3 that are up, hung or deny it gets its verdict', async () => {
        await inTurns(combinations(3, ['up', 'hung', 'denied']), AT_ONCE, async (subset) => {
          expect(await world.tryOn(subset), subset.join(' ')).to.equal(expected(subset));
        });
      });
    });
  }
});

async function verdictOf(semaphore: Semaphore, nodes: number): Promise<Verdict> {
  try {
    const handle = await semaphore.tryAcquire();
    if (handle === null) return 'busy';
    expect(handle.held).to.equal(true);
    expect(await handle.release()).to.equal(true);
    return 'granted';
  } catch (error) {
    if (!(error instanceof BackendError) || !(error.cause instanceof QuorumError)) throw error;
    expect(error.cause.reasons).to.have.lengthOf(nodes);
    const { cause } = error;
    const denied = cause.reasons.filter((reason) => String(reason).includes('NOPERM')).length;
    return nodes - denied >= Math.floor(nodes / 2) + 1 ? 'no quorum' : 'denied';
  }
}
