import { expect } from 'chai';

import { Semaphore } from '../../src/index.js';
import type { SubscriptionEvents } from '../../src/redis/connection.js';
import { keysOf } from '../../src/redis/keys.js';
import { parsePush } from '../../src/redis/push-message.js';
import { RedisBackend } from '../../src/redis/redis-backend.js';
import { RandomNumbers } from '../../test/support/random-numbers.js';
import { collectGarbage } from '../../test/support/garbage.js';
import { never, StubBackend, watch } from '../../test/unit/stub-backend.js';

const SEED = Number(process.env['REDSEM_SEED'] ?? Date.now() % 2 ** 31);
const MESSAGES = 10_000;
/** Milliseconds of the processor's time for one message, and bytes for all. */
const MOST_TIME = 20;
const MOST_MEMORY = 5 * 2 ** 20;

describe('messages that anybody may send', () => {
  it('name the semaphore, whatever its name', () => {
    for (const name of ['jobs', 'a;b|c', '{x}%7D', '%257B', '|', 'ü 語 \0', 'x'.repeat(512)]) {
      const tag = /\{([^{}]*)\}[^{}]*$/.exec(keysOf({ prefix: 'p', name })[0] ?? '')?.[1];
      const push = parsePush(`a.1 0 7 5000|${tag}`, 'a');
      expect(push?.name).to.equal(name);
      expect(push?.grants).to.deep.equal([
        { id: 'a.1', slots: [0], fencingToken: 7, expiresAt: 5 },
      ]);
    }
  });

  it('are read line by line, as far as they are for this client', () => {
    const lines = [
      'a.1 revoked',
      'b.1 0 7 5000',
      'x',
      'a.2.3 0,4-5 8 5000',
      'a.3 adopted',
      'aa.1 0 7 5',
    ];
    const push = parsePush(`${lines.join(';')}|jobs`, 'a');
    expect(push?.grants).to.deep.equal([
      { id: 'a.2.3', slots: [0, 4, 5], fencingToken: 8, expiresAt: 5 },
    ]);
    expect(push?.ended).to.deep.equal([
      { id: 'a.1', reason: 'revoked' },
      { id: 'a.3', reason: 'missing' },
    ]);
    const many = Array.from({ length: 3000 }, (_, i) => `a.${i} revoked`).join(';');
    expect(parsePush(`${many}|jobs`, 'a')?.ended).to.have.length(1000);
  });

  it('have no more slots than the id has permits', () => {
    for (const slots of ['0-16777214', '0-1', '0,1', '9-7']) {
      expect(parsePush(`a.1 ${slots} 1 1|jobs`, 'a')?.grants[0]?.slots, slots).to.deep.equal([]);
    }
  });

  it('are no messages where the name cannot be', () => {
    const wrong = ['', '|', 'a.1 0 7 1', 'a.1 0 7 1|'];
    const long = [`|${'x'.repeat(513)}`, `|${'x'.repeat(2 ** 17)}`];
    for (const message of [...wrong, ...long]) expect(parsePush(message, 'a')).to.equal(undefined);
  });

  it('make a permit that its first extension ends, at worst', async () => {
    const bench = await pushBench();
    bench.send(`${bench.waiting} 0 9 ${bench.soon()}|jobs`);
    await bench.clock.advance(0);
    expect(bench.waiter.value?.held).to.equal(true);
    bench.backend.onExtend = (call) => bench.backend.extended(call, false);
    await bench.clock.advance(50);
    expect(bench.waiter.value?.held).to.equal(false);
    await bench.semaphore.close();
  });

  it(`cost next to nothing, whatever they are (REDSEM_SEED=${SEED})`, async () => {
    const bench = await pushBench();
    const made = crafted(bench, new RandomNumbers(SEED));
    for (let i = 0; i < 500; i++) bench.send(made());
    await bench.clock.advance(1);
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    let longest = 0;
    for (let i = 0; i < MESSAGES; i++) {
      const message = made();
      let took = timeOf(() => bench.send(message));
      // A garbage collection in between is not the message's.
      if (took >= MOST_TIME)
        took = Math.min(
          took,
          timeOf(() => bench.send(message)),
        );
      longest = Math.max(longest, took);
      if (i % 100 === 0) await bench.clock.advance(1);
    }
    await bench.clock.advance(1);
    bench.forget();
    collectGarbage();
    expect(longest).to.be.below(MOST_TIME);
    expect(process.memoryUsage().heapUsed - before).to.be.below(MOST_MEMORY);
    expect([bench.holder.held, bench.waiter.done]).to.deep.equal([true, false]);
    await bench.semaphore.close();
  }).timeout(60_000);
});

/** Milliseconds of the processor's time, which other load does not prolong. */
function timeOf(work: () => void): number {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

/** A process with one held permit, and two requests that wait, one of them for many permits. */
async function pushBench() {
  const backend = new StubBackend();
  const { clock } = backend;
  let events: SubscriptionEvents | undefined;
  const redis = new RedisBackend({
    runBySha: never,
    runByText: never,
    subscribe: (_channel, given) => {
      events = given;
      return { close: () => Promise.resolve() };
    },
  });
  if (redis.listen !== undefined) backend.listen = redis.listen;
  const semaphore = new Semaphore(backend, 'jobs', { limit: 100_000 });
  backend.onAcquire = (call) => backend.allGranted(call);
  const holder = await semaphore.acquire();
  backend.onAcquire = (call) => backend.allQueued(call);
  const waiter = watch(clock, semaphore.acquire());
  watch(clock, semaphore.acquire({ permits: 100_000 }));
  await clock.advance(0);
  events?.onHealth(true);
  await clock.advance(0);
  const [held = '', waiting = '', big = ''] = [
    ...new Set(backend.acquires.flatMap(({ call }) => call.requests.map(({ id }) => id))),
  ];
  return {
    backend,
    clock,
    semaphore,
    holder,
    waiter,
    held,
    waiting,
    big,
    send: (message: string): void => events?.onMessage(message),
    soon: (): string => String(Math.round((backend.serverTime + 5000) * 1000)),
    /** What the stub notes of each call. */
    forget: (): void => {
      for (const notes of [backend.acquires, backend.extends, backend.releases]) notes.length = 0;
    },
  };
}

/** Anything that a sender may think of, but for a grant that is in order: see the test of that. */
function crafted(
  bench: Awaited<ReturnType<typeof pushBench>>,
  random: RandomNumbers,
): () => string {
  const client = bench.held.split('.')[0] ?? '';
  const known = [bench.held, bench.waiting, bench.big, `${client}.1`, `${client}.2.16777216`];
  const unknown = [`${client}.3`, `${client}.zzzzz`, `${client}.`, `${client}.1~a.1`, 'x', '', ' '];
  const ids = [...known, ...unknown, `${client}.${'9'.repeat(5000)}`, 'somebody.1'];
  const slots = [
    '0-16777214',
    '0-99998',
    '0-99999',
    '5-3',
    '0,0',
    `0${',1'.repeat(30_000)}`,
    '-',
    '',
  ];
  const rests = [
    '1 1',
    '99999999999999 1',
    '1',
    '1.5 1',
    '1 1 1',
    'x y',
    '1 -1',
    `1 ${'9'.repeat(400)}`,
  ];
  const names = ['jobs', 'other', '|', '%7B', 'x'.repeat(600), ''];
  const noise = (): string => {
    const length = random.between(0, random.chance(0.002) ? 200_000 : 200);
    return Array.from({ length }, () => random.pick([';', '|', ' ', '.', '0', 'a', '\0'])).join('');
  };
  const line = (): string => {
    const id = random.pick(ids);
    if (random.chance(0.2)) return `${id} ${random.pick(['revoked', 'adopted', 'x'])}`;
    return `${id} ${random.pick(slots)} ${random.pick(rests)}`;
  };
  return () => {
    if (random.chance(0.3)) return noise();
    const first = line();
    const many = first.length < 50 && random.chance(0.1);
    const lines = Array.from({ length: many ? 2000 : random.between(1, 5) }, () => first);
    if (random.chance(0.5)) lines.push(line(), line());
    return `${lines.join(';')}|${random.pick(names)}`;
  };
}
