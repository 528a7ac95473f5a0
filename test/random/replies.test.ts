import { expect } from 'chai';
import * as fc from 'fast-check';

import { Handle, isRedsemError, type RedisConnection, Semaphore } from '../../src/index.js';
import { ManualClock } from '../../src/manual-clock.js';
import type { SubscriptionEvents } from '../../src/redis/connection.js';
import { parseAcquire, parseInspect, parseRelease } from '../../src/redis/replies.js';
import { type ClientBench, itThroughBothClients } from '../support/client-bench.js';
import { describeWithServer } from '../support/require-server.js';
import { messages, type Outcome, outcomes } from './odd-replies.js';
import { check } from './reproducible.js';

/** A server that answers whatever it likes, in turns. */
class OddConnection implements RedisConnection {
  readonly #outcomes: readonly Outcome[];
  readonly subscribers: SubscriptionEvents[] = [];
  #calls = 0;

  constructor(replies: readonly Outcome[]) {
    this.#outcomes = replies;
  }

  runBySha(): Promise<unknown> {
    const { how, what } = this.#outcomes[this.#calls++ % this.#outcomes.length] ?? {};
    if (how === 'throw') throw what;
    if (how === 'reject') return Promise.reject(what);
    return how === 'hang' ? new Promise<never>(() => {}) : Promise.resolve(what);
  }

  runByText(): Promise<unknown> {
    return this.runBySha();
  }

  subscribe(_channel: string, events: SubscriptionEvents) {
    this.subscribers.push(events);
    queueMicrotask(() => events.onHealth(true));
    return { close: async () => {} };
  }
}

type Call = (semaphore: Semaphore) => Promise<unknown>;

const CALLS: Readonly<Record<string, Call>> = {
  acquire: (semaphore) => semaphore.acquire(),
  'acquire with a timeout': (semaphore) => semaphore.acquire(700),
  'acquire several': (semaphore) => semaphore.acquire({ permits: 2, timeout: 300 }),
  tryAcquire: (semaphore) => semaphore.tryAcquire(),
  inspect: (semaphore) => semaphore.inspect(),
  setLimit: (semaphore) => semaphore.setLimit(2),
  revoke: (semaphore) => semaphore.revoke('a.1'),
  adopt: (semaphore) => {
    return semaphore.adopt({ name: semaphore.name, id: 'a.1', slots: [0], fencingToken: 1 });
  },
};

describe('a server that answers at random', () => {
  it('causes documented errors only, and nothing hangs', async () => {
    const replies = fc.array(outcomes, { minLength: 1, maxLength: 6 });
    const calls = fc.array(fc.constantFrom(...Object.keys(CALLS)), { minLength: 1, maxLength: 4 });
    const pushes = fc.array(messages, { maxLength: 3 });
    const property = fc.asyncProperty(replies, calls, pushes, async (...given) => {
      await expectDocumented(...given);
    });
    await check(property, 1000);
  });
});

async function expectDocumented(
  replies: readonly Outcome[],
  calls: readonly string[],
  pushes: readonly string[],
): Promise<void> {
  const clock = new ManualClock();
  const connection = new OddConnection(replies);
  const retry = { jitter: false };
  const semaphore = new Semaphore(connection, 'odd', { limit: 4, ttl: 1000, retry, clock });
  const pending = new Set<string>();
  const follow = (what: string, promise: Promise<unknown> | undefined): void => {
    pending.add(what);
    const settled = (result: unknown): void => {
      pending.delete(what);
      if (result instanceof Handle) useUp(what, result);
    };
    promise?.then(settled, (error: unknown) => {
      pending.delete(what);
      if (!isRedsemError(error)) odd.push(`${what}: ${String(error)}`);
    });
  };
  const odd: string[] = [];
  const useUp = (what: string, handle: Handle): void => {
    if (!handle.slots.every(Number.isSafeInteger))
      odd.push(`${what}: slots ${handle.slots.join()}`);
    if (!Number.isSafeInteger(handle.fencingToken)) odd.push(`${what}: ${handle.fencingToken}`);
    if (handle.held) follow(`extend after ${what}`, handle.extend());
    follow(`release after ${what}`, handle.release());
  };
  calls.forEach((call, i) => follow(`${call} ${i}`, CALLS[call]?.(semaphore)));
  await clock.advance(200);
  for (const events of connection.subscribers) {
    for (const message of pushes) events.onMessage(message);
  }
  await clock.advance(5000);
  follow('close', semaphore.close());
  await clock.advance(5000);
  expect([...pending], 'never settled').to.deep.equal([]);
  expect(odd, 'undocumented outcomes').to.deep.equal([]);
}

describeWithServer('a server whose answers are mangled on their way', (server) => {
  itThroughBothClients('is left with nothing of what was asked', async (bench) => {
    const { connection } = await bench.connect(server().port);
    let semaphores = 0;
    const property = fc.asyncProperty(fc.array(mangling, { minLength: 1 }), async (mangle) => {
      await expectNothingLeft(bench, connection, `mangled-${(semaphores += 1)}`, mangle);
    });
    await check(property, 60);
  });
});

type Mangle = (reply: unknown) => unknown;

/** Cut, doubled, in the wrong case, as bytes, something else, or as it is. */
const mangling: fc.Arbitrary<Mangle> = fc.oneof(
  fc.constant((reply: unknown) => reply),
  fc.nat(40).map((length) => (reply: unknown) => String(reply).slice(0, length)),
  fc.constant((reply: unknown) => `${String(reply)}${String(reply)}`),
  fc.constant((reply: unknown) => [String(reply)]),
  fc.constant((reply: unknown) => Buffer.from(String(reply))),
  outcomes
    .filter(({ how, what }) => how === 'resolve' && !isAnswer(what))
    .map(
      ({ what }) =>
        () =>
          what,
    ),
);

/** A well-formed answer that is not true, such as 'busy' to one who was granted a permit: nobody could tell. */
function isAnswer(reply: unknown): boolean {
  const ids = ['a.1', 'a.2', 'a.3'];
  return ids.some((_id, i) =>
    [
      () => parseAcquire(reply, i + 1),
      () => parseRelease(reply, ids.slice(i)),
      () => parseInspect(reply),
    ].some(succeeds),
  );
}

function succeeds(parse: () => unknown): boolean {
  try {
    parse();
    return true;
  } catch {
    return false;
  }
}

async function expectNothingLeft(
  bench: ClientBench,
  real: RedisConnection,
  name: string,
  manglers: readonly Mangle[],
): Promise<void> {
  let calls = 0;
  let well = false;
  const mangle = (reply: unknown): unknown => {
    return well ? reply : manglers[calls++ % manglers.length]?.(reply);
  };
  const connection: RedisConnection = {
    runBySha: async (...call) => mangle(await real.runBySha(...call)),
    runByText: async (...call) => mangle(await real.runByText(...call)),
  };
  const options = { limit: 2, ttl: 10_000, extendEvery: 0 };
  const semaphore = new Semaphore(connection, name, options);
  const ask = [semaphore.acquire(50), semaphore.tryAcquire(), semaphore.acquire({ timeout: 50 })];
  const outcome = await Promise.allSettled([...ask, semaphore.inspect()]);
  for (const result of outcome) {
    if (result.status === 'rejected') expect(isRedsemError(result.reason)).to.equal(true);
    else if (result.value instanceof Handle) await result.value.release().catch(() => undefined);
  }
  well = true;
  await semaphore.close();
  const { held, waiting } = await bench.semaphore(real, name, options).inspect();
  expect({ held, waiting }, 'left behind').to.deep.equal({ held: 0, waiting: 0 });
}
