import { expect } from 'chai';

import { systemClock } from '../../src/index.js';
import type * as port from '../../src/quorum/quorum-node.js';
import { LateCallError } from '../../src/quorum/quorum-node.js';
import { RedisQuorumNode } from '../../src/redis/quorum-node.js';
import { type ClientKind, connectionTo } from '../support/open-client.js';
import { errorOf } from '../support/rejection.js';
import { RandomNumbers } from '../support/random-numbers.js';
import { MemoryQuorumNode } from './memory-node.js';
import { describeWithMasters } from './servers.js';

const STEPS = 600;
const LIMIT = 5;
const TTL = 60_000;

/** What can be the same on two nodes: all but the digits of tokens. */
interface Outcome {
  readonly holdings?: readonly (Pick<port.Holding, 'slots' | 'attempt'> | undefined)[];
  readonly free?: readonly number[];
  readonly dropped?: readonly boolean[];
  readonly tickets?: readonly unknown[];
  readonly sets?: readonly port.RecordedSet[];
}

describeWithMasters('the scripts of a quorum and a node in memory', 1, (masters) => {
  async function nodeOver(kind: ClientKind): Promise<RedisQuorumNode> {
    const [client = {}] = await masters().connect(kind);
    return new RedisQuorumNode(connectionTo(client));
  }

  for (const kind of ['redis', 'ioredis'] as const) {
    it(`answer ${STEPS} calls in the same way, over ${kind}`, async () => {
      const redis = await nodeOver(kind);
      const memory = new MemoryQuorumNode(systemClock);
      const random = new RandomNumbers(20_261_121);
      for (let step = 0; step < STEPS; step += 1) {
        const call = randomCall(random, `lock-step-${kind}`);
        expect(await call(redis), `step ${step}`).to.deep.equal(await call(memory));
      }
    });

    it(`refuse to do anything after the time that a call carries, over ${kind}`, async () => {
      const node = await nodeOver(kind);
      const key = { prefix: 'redsem', name: `late-${kind}` };
      const requests = [{ id: 'a.1', attempt: 1, permits: 1, token: 0, aim: [] }];
      const take = { key, limit: 1, ttl: TTL, label: '', requests };
      const { time } = await node.list(key);
      const error = await errorOf(node.take({ ...take, notAfter: time - 1 }), LateCallError);
      expect(error.time).to.be.at.least(time);
      expect((await node.list(key)).tickets).to.deep.equal([]);
      const { holdings } = await node.take({ ...take, notAfter: time + 10_000 });
      expect(holdings[0]?.slots).to.deep.equal([0]);
    });

    it(`give tokens that rise, and the one that was wanted where it is high enough, over ${kind}`, async () => {
      const node = await nodeOver(kind);
      const key = { prefix: 'redsem', name: `tokens-${kind}` };
      const base = { key, limit: 9, ttl: TTL, notAfter: undefined };
      const take = async (id: string, token: number): Promise<number | undefined> => {
        const requests = [{ id, attempt: 1, permits: 1, token, aim: [] }];
        return (await node.take({ ...base, label: 'l', requests })).holdings[0]?.token;
      };
      const first = (await take('a.1', 0)) ?? 0;
      expect(first).to.be.above(1_700_000_000_000_000);
      const wanted = first + 60_000_000;
      expect(await take('a.2', wanted)).to.equal(wanted);
      expect(await take('a.3', wanted)).to.equal(wanted + 1);
      const assign = async (id: string, slot: number, token: number): Promise<unknown> => {
        const ticket = { id, attempt: 1, slots: [slot], token, label: 'l' };
        const requests = [{ ...ticket, mode: 'assign' as const }];
        return (await node.keep({ ...base, requests })).holdings[0]?.token;
      };
      // Its own stays, a higher one is taken, a lower one would not be new.
      expect(await assign('a.2', 1, wanted)).to.equal(wanted);
      expect(await assign('a.2', 1, wanted + 9)).to.equal(wanted + 9);
      expect(await assign('a.3', 2, wanted + 5)).to.equal(wanted + 10);
    });
  }

  it('tell many permits of one ticket once', async () => {
    const [client = {}] = await masters().connect('redis');
    let told = 0;
    const inner = connectionTo(client);
    const counted = async (reply: Promise<unknown>): Promise<unknown> => {
      told += String(await reply).length;
      return reply;
    };
    const node = new RedisQuorumNode({
      runBySha: (...call) => counted(inner.runBySha(...call)),
      runByText: (...call) => counted(inner.runByText(...call)),
    });
    const key = { prefix: 'redsem', name: 'told' };
    const requests = ['a.1', 'a.2'].map((id) => {
      return { id, attempt: 1, permits: 5000, token: 0, aim: [] };
    });
    await node.take({ key, limit: 10_000, ttl: TTL, notAfter: undefined, label: '', requests });
    told = 0;
    const { tickets } = await node.list(key);
    expect(tickets.map(({ slots }) => slots.length)).to.deep.equal([5000, 5000]);
    const digits = tickets.reduce((sum, { slots }) => sum + slots.join().length, 0);
    // Beside its slots a page has a few dozen characters.
    expect(told).to.be.within(digits, digits + 2000);
  });
});

function randomCall(
  random: RandomNumbers,
  name: string,
): (node: port.QuorumNode) => Promise<Outcome> {
  const key = { prefix: 'redsem', name };
  const claim = random.chance(0.8) ? randomClaim(random) : undefined;
  const base = { key, limit: LIMIT, ttl: TTL, notAfter: undefined, claim };
  const id = `c.${random.between(1, 7)}`;
  const attempt = random.between(1, 4);
  const some = [0, 1, 2, 3, 4].filter(() => random.chance(0.3));
  const kind = random.pick(['take', 'take', 'take', 'keep', 'keep', 'drop', 'drop', 'list']);
  if (kind === 'take') {
    const others = [8, 9].slice(0, random.between(0, 3)).map((n) => `c.${n}`);
    const requests = [id, ...others].map((one, i) => {
      const aim = i === 1 ? [] : some;
      return { id: one, attempt, permits: random.between(1, 3), token: 0, aim };
    });
    return async (node) => {
      const { holdings, free, sets } = await node.take({ ...base, label: 'l', requests });
      return { holdings: holdings.map(plain), free, sets: sorted(sets) };
    };
  }
  if (kind === 'keep') {
    const mode = random.pick<port.KeepMode>(['extend', 'assign', 'restore']);
    const requests = [{ id, mode, attempt, slots: some, token: 1, label: 'l' }];
    return async (node) => {
      const { holdings, sets } = await node.keep({ ...base, requests });
      return { holdings: holdings.map(plain), sets: sorted(sets) };
    };
  }
  if (kind === 'drop') {
    const tickets = [{ id, attempt: random.chance(0.3) ? Infinity : attempt }];
    const origin = claim && { set: claim.set, held: random.chance(0.5) };
    return async (node) => ({ dropped: (await node.drop({ key, tickets, origin })).dropped });
  }
  return async (node) => {
    const { tickets } = await node.list(key);
    const plainTickets = tickets.map(({ id: ticket, slots, label }) => ({ ticket, slots, label }));
    return { tickets: plainTickets.toSorted((a, b) => (a.slots[0] ?? 0) - (b.slots[0] ?? 0)) };
  };
}

function randomClaim(random: RandomNumbers): port.SetClaim {
  const set = random.pick(['a,b', 'a,b+c,d', 'c,d', 'e']);
  return { set, record: random.pick(['unless-strangers', 'instead', 'never'] as const) };
}

function sorted(sets: readonly port.RecordedSet[]): port.RecordedSet[] {
  return sets.toSorted((a, b) => (a.set < b.set ? -1 : 1));
}

function plain(holding: port.Holding | undefined) {
  return holding === undefined ? undefined : { slots: holding.slots, attempt: holding.attempt };
}
