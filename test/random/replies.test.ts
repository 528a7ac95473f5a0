import { expect } from 'chai';
import * as fc from 'fast-check';

import { Handle, isRedsemError, type RedisConnection, Semaphore } from '../../src/index.js';
import { ManualClock } from '../../src/time/manual-clock.js';
import type { SubscriptionEvents } from '../../src/backends/redis/connection.js';
import { describeWithServer } from '../support/require-server.js';
import { closeFixtures, RedisFixture, request } from '../scripts/port-fixture.js';
import { check } from './reproducible.js';

type Twist = (reply: unknown) => unknown;

/** Cut, doubled, as bytes or a list, something else, or as it is. */
const spoilt: fc.Arbitrary<Twist> = fc.oneof(
  fc.constant((reply: unknown) => reply),
  fc.nat(40).map((length) => (reply: unknown) => String(reply).slice(0, length)),
  fc.constant((reply: unknown) => `${String(reply)}${String(reply)}`),
  fc.constant((reply: unknown) => [String(reply)]),
  fc.constant((reply: unknown) => Buffer.from(String(reply))),
  fc.constantFrom(null, undefined, '', 'OK', 0, true, {}, Symbol('x')).map((other) => () => other),
);

/** The reply has another piece in it: a number, a sign, or very much text. */
const changed: fc.Arbitrary<Twist> = fc
  .record({
    at: fc.nat(99),
    drop: fc.nat(20),
    piece: fc.oneof(
      fc.constantFrom('0', '-1', '|', ';', ',', ' ', '~', '1-0', 'NaN', '1e400', '%zz', '\0'),
      fc.constantFrom('9'.repeat(25), '0-8589934592', '; '.repeat(100_000), '0,'.repeat(100_000)),
      fc.string({ unit: 'binary' }),
    ),
  })
  .map(({ at, drop, piece }) => (reply) => {
    const text = String(reply);
    const from = Math.floor((at / 100) * text.length);
    return text.slice(0, from) + piece + text.slice(from + drop);
  });

/** A call resolves, rejects or throws, or has no end. */
const outcomes = fc.record({
  how: fc.constantFrom(...Array<'resolve'>(15).fill('resolve'), 'reject', 'throw', 'hang'),
  reply: fc.nat(99),
  twist: fc.oneof(spoilt, changed, changed),
  error: fc.oneof(
    fc.constantFrom('NOSCRIPT', 'WRONGTYPE', 'ERR', 'LOADING', 'READONLY', 'MOVED', '').map(Error),
    fc.constant(new TypeError('a defect in a client')),
    fc.anything(),
  ),
});

type Outcome = typeof outcomes extends fc.Arbitrary<infer One> ? One : never;

const CALLS: readonly ((semaphore: Semaphore) => Promise<unknown>)[] = [
  (semaphore) => semaphore.acquire(),
  (semaphore) => semaphore.acquire(700),
  (semaphore) => semaphore.acquire({ permits: 2, timeout: 300 }),
  (semaphore) => semaphore.tryAcquire(),
  (semaphore) => semaphore.inspect(),
  (semaphore) => semaphore.setLimit(2),
  (semaphore) => semaphore.revoke('a.1'),
  (semaphore) => semaphore.adopt({ name: semaphore.name, id: 'a.1', slots: [0], fencingToken: 1 }),
];

/** An error of redsem, or a refusal of permits above a limit, whatever limit the reply names. */
function isDocumented(error: unknown): boolean {
  return isRedsemError(error) || /limit of "odd", \d+ .*, got [12];/.test(String(error));
}

describeWithServer('a server that answers at random', (server) => {
  /** The answers and the pushes of a real server. */
  let genuine: readonly string[] = [];
  const pushed: string[] = [];

  before('calls of every kind', async () => {
    const one = new RedisFixture(server(), { limit: 4 });
    const subscriber = one.redis.duplicate();
    subscriber.on('message', (_channel, message: string) => pushed.push(message));
    for (const client of ['a', 'b']) await subscriber.subscribe(`redsem:inbox:${client}`);
    await one.acquire(['a.1', 'a.2.2', 'a.3']);
    await one.acquire(['b.1', request('b.2', 'try'), 'b.3.9']);
    await one.extend(['a.1', 'never.1']);
    await one.inspect();
    await one.revoke('a.1');
    await one.adopt('a.3', 'b.4');
    await one.setLimit(5, { client: 'b' });
    await one.release(['a.2.2', 'a.1'], { client: 'b' });
    while (pushed.length < 2) await one.redis.ping();
    genuine = [...one.replies];
    subscriber.disconnect();
    await closeFixtures();
  });

  it('causes documented errors only, and nothing hangs', async () => {
    const replies = fc.array(outcomes, { minLength: 1, maxLength: 6 });
    const calls = fc.array(fc.nat(CALLS.length - 1), { minLength: 1, maxLength: 4 });
    const messages = fc.array(fc.tuple(fc.nat(99), changed), { maxLength: 3 });
    const property = fc.asyncProperty(replies, calls, messages, async (answers, called, sent) => {
      const texts = sent.map(([at, twist]) => String(twist(pushed[at % pushed.length])));
      await expectDocumented(answers, called, texts);
    });
    await check(property, 300);
  });

  async function expectDocumented(
    answers: readonly Outcome[],
    called: readonly number[],
    messages: readonly string[],
  ): Promise<void> {
    const clock = new ManualClock();
    let asked = 0;
    const run = (): Promise<unknown> => {
      // An `inspect` whose pages go in circles asks for ever.
      if (asked > 10_000) return new Promise<never>(() => {});
      const { how, reply = 0, twist, error } = answers[asked++ % answers.length] ?? {};
      if (how === 'throw') throw error;
      if (how === 'reject') return Promise.reject(error);
      if (how === 'hang') return new Promise<never>(() => {});
      return Promise.resolve(twist?.(genuine[reply % genuine.length]));
    };
    const subscribers: SubscriptionEvents[] = [];
    const connection: RedisConnection = {
      runBySha: run,
      runByText: run,
      subscribe: (_channel, events) => {
        subscribers.push(events);
        queueMicrotask(() => events.onHealth(true));
        return { close: async () => {} };
      },
    };
    const retry = { jitter: false };
    const semaphore = new Semaphore(connection, 'odd', { limit: 4, ttl: 1000, retry, clock });
    const pending = new Set<string>();
    const odd: string[] = [];
    const follow = (what: string, promise: Promise<unknown> | undefined): void => {
      pending.add(what);
      const ended = promise?.finally(() => pending.delete(what));
      ended?.then(
        (result) => result instanceof Handle && useUp(what, result),
        (error: unknown) => isDocumented(error) || odd.push(`${what}: ${String(error)}`),
      );
    };
    const useUp = (what: string, handle: Handle): void => {
      const numbers = [...handle.slots, handle.fencingToken];
      if (!numbers.every(Number.isSafeInteger)) odd.push(`${what}: ${numbers.join()}`);
      if (handle.held) follow(`extend after ${what}`, handle.extend());
      follow(`release after ${what}`, handle.release());
    };
    called.forEach((at, i) => follow(`call ${at}, ${i}`, CALLS[at]?.(semaphore)));
    await clock.advance(200);
    for (const events of subscribers) for (const message of messages) events.onMessage(message);
    await clock.advance(5000);
    follow('close', semaphore.close());
    await clock.advance(5000);
    expect([[...pending], odd], 'never settled, undocumented').to.deep.equal([[], []]);
  }
});
