import { expect } from 'chai';

import type { SemaphoreKey } from '../../src/backends/backend.js';
import { Semaphore, systemClock } from '../../src/index.js';
import type * as port from '../../src/backends/quorum/quorum-node.js';
import { LateCallError } from '../../src/backends/quorum/quorum-node.js';
import { RedisQuorumNode } from '../../src/backends/quorum/redis-node.js';
import { connectionTo } from '../support/open-client.js';
import { RandomNumbers } from '../support/random-numbers.js';
import { MemoryQuorumNode } from './memory-node.js';
import { describeWithMasters } from './servers.js';

const STEPS = 300;
const TTL = 60_000;

/** Microseconds that no clock shows for long: the next token is one more, whatever the time is. */
const FAR = 4_000_000_000_000_000;

/** The parts of a reply that two nodes share: all but times. */
type Outcome = Readonly<Record<string, unknown>> | 'late';

describeWithMasters('the scripts of a quorum and a node in memory', 1, (masters) => {
  for (const kind of ['redis', 'ioredis'] as const) {
    it(`answer ${STEPS} calls in the same way, over ${kind}`, async () => {
      const [client = {}] = await masters().connect(kind);
      const redis = new RedisQuorumNode(connectionTo(client));
      const memory = new MemoryQuorumNode(systemClock);
      const key = { prefix: 'redsem', name: `lock-step-${kind}` };
      const { time } = await redis.list(key);
      const random = new RandomNumbers(20_261_121);
      const calls = Array.from({ length: STEPS }, () => randomCall(random, key, time));
      calls.unshift(hold({ key, limit: 1, ttl: TTL, notAfter: undefined }, ['c.0'], 'take'));
      for (const [step, call] of calls.entries()) {
        const [one, other] = await Promise.all(
          [redis, memory].map((node) => outcomeOf(call, node)),
        );
        expect(one, `step ${step}`).to.deep.equal(other);
      }
    });
  }

  it('leave nothing but a small hash, and each key has an expiry', async () => {
    const semaphore = new Semaphore(await masters().connect('redis'), 'left', { limit: 10_000 });
    const [server] = masters().servers;
    const expiry = async (part: string): Promise<number> =>
      Number(await server?.command('PTTL', `redsem:{left}:${part}`));
    const handle = await semaphore.acquire({ permits: 5000, timeout: 20_000 });
    await handle.extend();
    expect(await expiry('qslots')).to.be.within(1, 31_100);
    expect(await expiry('qmeta')).to.be.within(1, 86_432_000);
    expect(await handle.release()).to.equal(true);
    expect(await expiry('qmeta'), 'a day after the last ticket').to.be.within(1, 86_400_000);
    expect(await server?.command('KEYS', '*{left}*')).to.deep.equal(['redsem:{left}:qmeta']);
    await semaphore.close();
  });

  it('keep a ticket of weeks when a shorter ticket is asked for that is gone', async () => {
    const [client = {}] = await masters().connect('ioredis');
    const node = new RedisQuorumNode(connectionTo(client));
    const key = { prefix: 'redsem', name: 'weeks' };
    const base = { key, limit: 2, notAfter: undefined };
    const weeks = 2_000_000_000;
    await hold({ ...base, ttl: weeks }, ['c.1'], 'take')(node);
    await hold({ ...base, ttl: TTL }, ['c.2'], 'extend')(node);
    const life = await masters().servers[0]?.command('PTTL', 'redsem:{weeks}:qmeta');
    expect(Number(life)).to.be.above(weeks);
  });
});

type Call = (node: port.QuorumNode) => Promise<Outcome>;

async function outcomeOf(call: Call, node: port.QuorumNode): Promise<Outcome> {
  try {
    return await call(node);
  } catch (error) {
    if (error instanceof LateCallError) return 'late';
    throw error;
  }
}

type Base = Omit<port.HoldCall, 'requests'>;

function hold(
  base: Base,
  ids: readonly string[],
  mode: port.HoldMode,
  request: Partial<port.HoldRequest> = {},
): Call {
  const first = { mode, attempt: 1, permits: 1, token: FAR, slots: [], label: 'l' };
  const requests = ids.map((id) => ({ ...first, ...request, id }));
  return async (node) => {
    const { holdings, free, sets, otherLimit } = await node.hold({ ...base, requests });
    return { holdings: holdings.map(plain), free, sets: sorted(sets), otherLimit };
  };
}

function randomCall(random: RandomNumbers, key: SemaphoreKey, time: number): Call {
  const claim = random.chance(0.8) ? randomClaim(random) : undefined;
  const notAfter = random.chance(0.1) ? 1 : random.chance(0.5) ? time + 1e9 : undefined;
  const base = { key, limit: 5, ttl: TTL, notAfter, claim };
  const id = `c.${random.between(1, 7)}`;
  const attempt = random.between(1, 4);
  const token = FAR + random.pick([0, 1, random.between(0, 2000)]);
  const slots = random.some([0, 1, 2, 3, 4], 0.3);
  const kind = random.pick(['take', 'take', 'take', 'keep', 'keep', 'drop', 'drop', 'list']);
  if (kind === 'take') {
    const others = ['c.8', 'c.9'].slice(0, random.between(0, 3));
    const request = { attempt, permits: random.between(1, 3), token, slots };
    return hold(base, [id, ...others], 'take', request);
  }
  if (kind === 'keep') {
    const mode = random.pick(['extend', 'assign', 'restore'] as const);
    return hold(base, [id], mode, { attempt, permits: slots.length, slots, token });
  }
  if (kind === 'drop') {
    const tickets = [{ id, attempt: random.chance(0.3) ? Infinity : attempt }];
    const origin = claim && { set: claim.set, held: random.chance(0.5) };
    return async (node) => ({ dropped: (await node.drop({ key, tickets, origin })).dropped });
  }
  return async (node) => {
    const { tickets } = await node.list(key);
    const ordered = tickets.toSorted((a, b) => (a.slots[0] ?? 0) - (b.slots[0] ?? 0));
    return { tickets: ordered.map((ticket) => [ticket.id, ticket.label, plain(ticket)]) };
  };
}

function randomClaim(random: RandomNumbers): port.SetClaim {
  const set = random.pick(['a,b', 'a,b+c,d', 'c,d', 'e']);
  return { set, otherSet: random.pick(['refuse', 'warn'] as const) };
}

function sorted(sets: readonly port.RecordedSet[]): port.RecordedSet[] {
  return sets.toSorted((a, b) => (a.set < b.set ? -1 : 1));
}

function plain(holding: port.Holding | undefined) {
  return holding && [holding.slots, holding.attempt, holding.token];
}
