import { expect } from 'chai';
import * as fc from 'fast-check';

import { check } from '../random/reproducible.js';
import { type ModelRequest, OrderModel } from '../support/order-model.js';
import { describeWithServer } from '../support/require-server.js';
import type { PortFixture } from './port-fixture.js';
import { closeFixtures, MemoryFixture, RedisFixture, request } from './port-fixture.js';

const LIMIT = 4;
const GROUPS = ['', '', 'a', 'b', 'c', 'a b;|'];
const WEIGHTS = [1, 1, 2, 3, 1000];
const PRIORITIES = [0, 0, 0, 0, 1, 9];
const HOUR = 3_600_000;

interface Step {
  readonly act: 'ask' | 'release' | 'withdraw';
  readonly picks: readonly [number, number, number, number];
}

const pick = fc.nat(99);
const steps = fc.array(
  fc.record<Step>({
    act: fc.constantFrom('ask', 'ask', 'ask', 'release', 'release', 'withdraw'),
    picks: fc.tuple(pick, pick, pick, pick),
  }),
  { maxLength: 120, size: 'max' },
);

/** The model, both backends, and the holders and waiters by the model. */
class Program {
  readonly #model = new OrderModel();
  readonly #sides: readonly PortFixture[];
  readonly #held: ModelRequest[] = [];
  readonly #waiting = new Map<string, ModelRequest>();
  readonly #groupLimit: number | undefined;
  #made = 0;

  constructor(sides: readonly PortFixture[], groupLimit: number | undefined) {
    this.#sides = sides;
    this.#groupLimit = groupLimit;
    this.#model.groupLimit = groupLimit ?? Infinity;
  }

  async do({ act, picks }: Step): Promise<void> {
    if (act === 'ask') await this.#ask(picks);
    else if (act === 'release') await this.#release(picks[0]);
    else await this.#withdraw(picks[0]);
    for (const side of this.#sides) {
      expect(await side.queue(), side.constructor.name).to.deep.equal(this.#model.inOrder());
    }
  }

  async end(): Promise<void> {
    while (this.#held.length > 0) await this.#release(0);
    expect(this.#model.flows).to.equal(0);
  }

  async #ask([group, weight, priority, size]: Step['picks']): Promise<void> {
    this.#made += 1;
    const most = Math.min(LIMIT, this.#groupLimit ?? LIMIT);
    const permits = 1 + (size % 5 === 0 ? size % most : 0);
    const name = of(GROUPS, group);
    const order = {
      group: name,
      weight: name === '' ? 1 : of(WEIGHTS, weight),
      priority: of(PRIORITIES, priority),
    };
    const asked = { id: `c.${this.#made}${permits > 1 ? `.${permits}` : ''}`, permits, ...order };
    this.#waiting.set(asked.id, asked);
    this.#model.add(asked);
    await this.#compare(async (side) => {
      const { verdicts, grants } = await side.acquire([request(asked.id, 'wait', order)], {
        ttl: HOUR,
        groupLimit: this.#groupLimit,
      });
      const own = verdicts[0]?.kind === 'granted' ? [asked.id] : [];
      return [...own, ...grants.map(({ id }) => id)];
    });
  }

  async #release(at: number): Promise<void> {
    const [given] = this.#held.splice(at % Math.max(this.#held.length, 1), 1);
    if (given === undefined) return;
    this.#model.release(given);
    await this.#giveBack(given.id);
  }

  async #withdraw(at: number): Promise<void> {
    const id = [...this.#waiting.keys()][at % Math.max(this.#waiting.size, 1)];
    if (id === undefined) return;
    this.#waiting.delete(id);
    this.#model.withdraw(id);
    await this.#giveBack(id);
  }

  async #giveBack(id: string): Promise<void> {
    await this.#compare(async (side) => {
      const { grants } = await side.release(id, { client: 'c' });
      return grants.map((grant) => grant.id);
    });
  }

  /** Each side grants what the model grants now, in its order. */
  async #compare(call: (side: PortFixture) => Promise<string[]>): Promise<void> {
    const granted: string[] = [];
    const used = (): number => this.#held.reduce((sum, { permits }) => sum + permits, 0);
    for (
      let one = this.#model.next(LIMIT - used());
      one !== undefined;
      one = this.#model.next(LIMIT - used())
    ) {
      granted.push(one.id);
      this.#held.push(one);
      this.#waiting.delete(one.id);
    }
    for (const side of this.#sides) {
      expect(await call(side), side.constructor.name).to.deep.equal(granted);
    }
  }
}

function of<T>(list: readonly T[], number: number): T {
  return list[number % list.length] as T;
}

describeWithServer('the order of the queue', (server) => {
  after(closeFixtures);

  for (const groupLimit of [undefined, 1, 2]) {
    const what = groupLimit === undefined ? '' : `, with ${groupLimit} for each group`;
    it(`is that of its model, in memory and on Redis${what}`, () => follows(groupLimit));
  }

  let programs = 0;
  async function follows(groupLimit: number | undefined): Promise<void> {
    const redis = new RedisFixture(server(), { limit: LIMIT });
    const property = fc.asyncProperty(steps, async (list) => {
      programs += 1;
      redis.moveTo(`model-${programs}`, LIMIT);
      const memory = new MemoryFixture({ limit: LIMIT, time: redis.time });
      const program = new Program([memory, redis], groupLimit);
      for (const step of list) await program.do(step);
      await program.end();
      await redis.expectNothingLeft();
    });
    await check(property, 20);
  }
});
