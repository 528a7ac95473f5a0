import { expect } from 'chai';
import { hostname } from 'node:os';

import { systemClock } from '../../src/time/clock.js';
import {
  AcquireTimeoutError,
  BackendError,
  ClosedError,
  HandleLostError,
  isRedsemError,
  type LostReason,
  RedsemError,
} from '../../src/errors.js';
import { ManualClock } from '../../src/time/manual-clock.js';
import {
  acquireAll,
  Election,
  KeyedMutex,
  KeyedSemaphore,
  listSemaphores,
  MemoryBackend,
  Mutex,
  quorum,
  ReadWriteLock,
  Semaphore,
  useAll,
} from '../../src/index.js';
import { resolveAcquire, resolveOptions, resolveTry } from '../../src/arguments/resolve.js';
import { errorOf } from '../support/rejection.js';
import { newClientId, parseTicketId, ticketId } from '../../src/backends/ticket-id.js';

const HELP = '; see: npx redsem help INVALID_ARGUMENT';

function refusalOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return String(error);
  }
  return 'not refused';
}

class GlideClient {
  invokeScript(): void {}
}

it('a client of another kind is refused, and the message names the supported clients', () => {
  const supported =
    'new Redis(url) of ioredis or iovalkey, or await createClient({ url }).connect() of redis';
  for (const [client, got] of [
    [{ eval: () => {}, evalsha: () => {} }, 'an object, without events: over HTTP?'],
    [new GlideClient(), 'an object of class GlideClient: Valkey GLIDE is not supported'],
  ] as const) {
    const text = refusalOf(() => new Semaphore(client as never, 'x', { limit: 1 }));
    expect(text)
      .to.match(/^TypeError: /)
      .and.include(`expected a client (${supported})`)
      .and.include(`got ${got}`);
  }
});

describe('options', () => {
  it('have their documented defaults, and cannot be changed afterwards', () => {
    const resolved = resolveOptions({ limit: 5 });
    expect(resolved).to.be.frozen.and.to.deep.equal({
      limit: 5,
      ttl: 30_000,
      extendEvery: 10_000,
      retry: { min: 10, max: 200, factor: 2, jitter: true },
      prefix: 'redsem',
      replicas: undefined,
      maxWaiting: undefined,
      rate: undefined,
      budgets: undefined,
      groupLimit: undefined,
      keeper: undefined,
      label: `${hostname()}:${process.pid}`,
      clock: systemClock,
    });
    const { retry } = resolveOptions({ limit: 1, retry: { max: 50 } });
    expect(retry).to.deep.equal({ min: 10, max: 50, factor: 2, jitter: true });
    const clock = new ManualClock();
    expect(resolveOptions({ limit: 1 }, clock).clock).to.equal(clock);
    expect(resolveOptions({ limit: 1, clock: systemClock }, clock).clock).to.equal(systemClock);
  });

  // The conformance cases show that each option refuses a wrong value by its name; these are the
  // words, and the bounds that depend on another option.
  it('have bounds, which a refusal names', () => {
    const five = Object.fromEntries('abcde'.split('').map((name) => [name, { amount: 1, per: 1 }]));
    for (const [given, message] of [
      [{ limit: 0 }, 'limit: expected an integer >= 1, got 0'],
      [{ ttl: 100, extendEvery: 51 }, 'extendEvery: expected 0 to 50 ms (30 s is 30_000), got 51'],
      [
        { retry: { min: 300 } },
        'retry.max: expected 300 to 2147483647 ms (30 s is 30_000), got 200',
      ],
      [{ label: 'ü'.repeat(129) }, 'label: expected 0 to 256 bytes, got 258'],
      [
        { limit: Infinity },
        'limit: expected an integer >= 1 (Infinity only beside a rate), got Infinity',
      ],
      [
        { rate: { permits: 1001, per: 1 } },
        'rate.permits: expected an integer from 1 to 1000, got 1001',
      ],
      [
        { rate: { permits: 1, per: 15_768_000_000, burst: 3 } },
        'rate.burst: expected an integer from 1 to 2, got 3',
      ],
      [
        { budgets: { tokens: { amount: 0, per: 60_000 } } },
        'budgets.tokens.amount: expected an integer >= 1, got 0',
      ],
      [
        { budgets: { 'a b': { amount: 1, per: 1 } } },
        'budgets: expected a name of 1 to 32 letters, digits and _ . -, got "a b" (string)',
      ],
      [{ budgets: five }, 'budgets: expected at most 4, got 5'],
      [{ groupLimit: 0 }, 'groupLimit: expected an integer >= 1, got 0'],
      [undefined, 'options: expected an object with a limit, got undefined'],
    ] as const) {
      const options = given && { limit: 1, ...given };
      const text = refusalOf(() => Reflect.apply(resolveOptions, undefined, [options]));
      expect(text).to.match(/^(?:Type|Range)Error: /);
      expect(text.replace(/^\w+: /, '')).to.equal(message + HELP);
    }
  });

  it('of acquire have their documented defaults, and take each given value', () => {
    const none = { order: undefined, cost: undefined, onWaiting: undefined };
    const expected = { timeout: Infinity, signal: undefined, permits: 1, ...none };
    for (const given of [undefined, {}, { priority: 0 }]) {
      expect(resolveAcquire(given)).to.deep.equal(expected);
    }
    const given = { timeout: 2 ** 33, signal: new AbortController().signal, permits: 16_777_216 };
    expect(resolveAcquire(given)).to.deep.equal({ ...given, ...none });
    const order = { group: 'ü'.repeat(64), weight: 1000, priority: 9 };
    expect(resolveAcquire(order).order).to.deep.equal(order);
    const byDefault = { group: '', weight: 1, priority: 0 };
    for (const part of [{ group: 'a' }, { priority: 2 }]) {
      expect(resolveAcquire(part).order).to.deep.equal({ ...byDefault, ...part });
    }
    expect(refusalOf(() => Reflect.apply(resolveAcquire, undefined, ['5']))).to.match(
      /^TypeError: timeout: expected a number of milliseconds or an options object, got "5"/,
    );
  });

  it('of acquire name budgets that there are, and whole units', () => {
    const budgets = { tokens: { permits: 1, per: 1, burst: 1 } };
    const cost = (given: object) => () =>
      resolveAcquire({ cost: given as never }, undefined, budgets);
    expect({ ...cost({ tokens: 4000 })().cost }).to.deep.equal({ tokens: 4000 });
    for (const [given, message] of [
      [{ tokns: 1 }, 'TypeError: cost.tokns: expected a name among budgets (tokens), got 1'],
      [{ tokens: 1.5 }, 'RangeError: cost.tokens: expected an integer >= 0, got 1.5'],
      [{ tokens: '1' }, 'TypeError: cost.tokens: expected a number, got "1"'],
      [[1], 'TypeError: cost: expected an object by names of budgets, got an array'],
    ] as const) {
      const refused = new RegExp(`^${message.replace(/[()]/g, '.')}`);
      expect(refusalOf(cost(given))).to.match(refused);
      expect(refusalOf(() => resolveTry({ cost: given as never }, budgets))).to.match(refused);
    }
  });

  it('of tryAcquire are permits, a group and a cost', () => {
    const order = { group: 'a', weight: 1, priority: 0 };
    const given = { permits: 2, group: 'a', cost: { tokens: 1 } };
    const { cost, ...rest } = resolveTry(given);
    expect([rest, { ...cost }]).to.deep.equal([{ permits: 2, order }, { tokens: 1 }]);
    const none = { permits: 1, order: undefined, cost: undefined };
    expect([resolveTry(), resolveTry({ cost: {} })]).to.deep.equal([none, none]);
    for (const [wrong, message] of [
      [{ group: '' }, 'RangeError: group: expected 1 to 128 bytes, got 0'],
      [{ group: 'a', weight: 2 }, 'TypeError: weight: expected no option of this name'],
      [{ timeout: 0 }, 'TypeError: timeout: expected no option of this name'],
    ] as const) {
      expect(refusalOf(() => Reflect.apply(resolveTry, undefined, [wrong]))).to.include(message);
    }
  });

  it('that are unknown are refused, with a hint', () => {
    for (const [option, hint] of Object.entries({
      lockTimeout: 'did you mean ttl?',
      refreshInterval: 'did you mean extendEvery?',
      retryDelay: 'did you mean retry?',
      maxConcurrent: 'did you mean limit?',
      keyPrefix: 'did you mean prefix?',
      TTL: 'did you mean ttl?',
      extentEvry: 'did you mean extendEvery?',
      timeout: 'it is an option of acquire',
      acquireTimeout: 'did you mean timeout, an option of acquire?',
      driftFactor:
        'one of limit, ttl, extendEvery, retry, prefix, label, replicas, maxWaiting, rate, budgets, groupLimit, keeper, clock',
      maxQueueSize: 'did you mean maxWaiting?',
      tenantId: 'did you mean group, an option of acquire?',
    })) {
      expect(refusalOf(() => resolveOptions({ limit: 1, [option]: undefined }))).to.equal(
        `TypeError: ${option}: expected no option of this name (${hint}), got undefined${HELP}`,
      );
    }
    const inherited = Object.create({ lockTimeout: 5 }) as object;
    expect(resolveOptions(Object.assign(inherited, { limit: 1 })).limit).to.equal(1);
  });

  const backend = new MemoryBackend();
  const lock = (given: object) => new ReadWriteLock(backend, 'a', given);
  const election = (given: object) => new Election(backend, 'a', given);
  const keyed = (given: unknown) => new KeyedSemaphore(backend, given as { limit: number });

  it('of every part and class are refused by their names', () => {
    const semaphore = (given: object) => () => resolveOptions({ limit: 1, ...given });
    const list = (given: object) => listSemaphores(backend, given);
    for (const [message, make] of Object.entries<() => unknown>({
      'retry.minimum: .*one of min, max, factor, jitter': semaphore({ retry: { minimum: 5 } }),
      'replicas.timeOut: .*did you mean timeout': semaphore({
        replicas: { atLeast: 1, timeOut: 5 },
      }),
      'ttl: .*it is an option of the constructor': () => resolveAcquire({ ttl: 5 } as object),
      'weight: .*add group, or use permits': () => resolveAcquire({ weight: 2 }),
      'rate.limit: .*did you mean rate.permits': semaphore({ rate: { limit: 5, per: 1 } }),
      'rate.interval: .*mean rate.per\\?': semaphore({ rate: { interval: 5, permits: 1 } }),
      'clok: .*did you mean clock': () => new MemoryBackend({ clok: 1 } as object),
      'keyPrefix: .*did you mean prefix': () => list({ keyPrefix: 'a' }),
      'othersets: .*did you mean otherSet': () => quorum({}, { othersets: 'warn' } as object),
      'stripe: .*did you mean stripes': () => new KeyedMutex(backend, { stripe: 1 } as object),
      'lockTimeout: .*mean ttl': () => new Mutex(backend, 'a', { lockTimeout: 1 } as object),
      'options: expected an object, got 5': () => new MemoryBackend(5 as never),
      'limit: expected an integer from 1 to 16777216, got 0': () => lock({ limit: 0 }),
      'limit: expected an integer from 1 to 16777216, got 16777217': () =>
        lock({ limit: 2 ** 24 + 1 }),
      'readers: expected no option of this name': () => lock({ readers: 5 }),
      'rate: expected none, because a writer takes all': () => lock({ rate: 1 }),
      'again: expected true or false, got "yes"': () => election({ again: 'yes' }),
      'agian: .*did you mean again': () => election({ agian: true }),
      'limit: expected none': () => election({ limit: 2 }),
      'options: expected an object, got undefined': () => keyed(undefined),
      'limit: expected a number, got undefined': () => keyed({}),
      'stripes: expected no option of this name': () => keyed({ limit: 1, stripes: 3 }),
      'nam: .*did you mean name': () => keyed({ limit: 1, nam: 'a' }),
      'name: expected no colon': () => keyed({ limit: 1, name: 'a:b' }),
    })) {
      expect(refusalOf(make)).to.match(new RegExp(`^(?:Type|Range)Error: ${message}`));
    }
  });

  it('of every call are refused by their names, and the call takes nothing', async () => {
    const [semaphore, mutex] = [new Semaphore(backend, 'a', { limit: 1 }), new KeyedMutex(backend)];
    const [files, leader, keys] = [lock({}), election({}), keyed({ limit: 1 })];
    const [wait, count] = [{ waitTimeout: 1 }, { count: 1 }] as object[];
    const wrong = 5 as never;
    const noTimeout = 'waitTimeout: expected no option of this name.*timeout';
    const noPermits = 'count: expected no option of this name.*permits';
    const refused = [
      [semaphore.use(() => 1, wait), noTimeout],
      [mutex.acquire('a', wait), noTimeout],
      [mutex.use('a', () => 1, wait), noTimeout],
      [acquireAll([semaphore], wait), noTimeout],
      [useAll([semaphore], () => 1, wait), noTimeout],
      [semaphore.tryAcquire(count), noPermits],
      [semaphore.tryUse(() => 1, count), noPermits],
      [acquireAll([{ semaphore, ...count }]), `semaphores.${noPermits}`],
      [files.acquireRead({ permits: 1 } as object), 'permits: expected '],
      [files.acquireWrite({ permits: 1 } as object), 'permits: expected '],
      [files.acquireRead({ timeout: -1 }), 'timeout: expected '],
      [files.acquireWrite({ timeout: -1 }), 'timeout: expected '],
      [files.read(wrong), 'fn: expected '],
      [files.write(wrong), 'fn: expected '],
      [leader.campaign(wrong), 'signal: expected '],
      [keys.acquire('a', { ttl: 5 } as object), 'ttl: expected '],
      [keys.tryUse('a', wrong), 'fn: expected '],
      ...[undefined, 5, ['a'], '', 'x'.repeat(600), 'a\ud800'].map(
        (key) => [keys.acquire(key as string), 'key: expected '] as const,
      ),
    ] as const;
    const expectRefused = async ([call, message]: (typeof refused)[number]): Promise<void> => {
      const error = await errorOf<Error>(call, Error);
      expect(error).to.have.property('code', 'INVALID_ARGUMENT');
      expect(error.message).to.match(new RegExp(`^${message}`));
    };
    await Promise.all(refused.map(expectRefused));
    for (const each of [semaphore, files.semaphore, leader.mutex])
      expect(await each.inspect()).to.include({ held: 0, waiting: 0 });
  });
});

describe('errors', () => {
  const details = { name: 'jobs', timeout: 500, waited: 500.4, attempts: 12 };
  const cause = new Error('connect ECONNREFUSED');
  const lost = (reason: LostReason, why?: Error): HandleLostError =>
    new HandleLostError('jobs', 'a.1', reason, why);
  const failed = (why?: unknown): BackendError => new BackendError('it failed', why);
  const two = [new Error('one'), new Error('two')];

  for (const [error, code, message] of [
    [
      new AcquireTimeoutError({ ...details, attempts: 1 }, cause),
      'ACQUIRE_TIMEOUT',
      'cannot reach Redis: no permit of "jobs" came free within 500 ms (1 try in 500 ms); last error: connect ECONNREFUSED',
    ],
    [lost('expired'), 'HANDLE_LOST', 'its lease ran out before an extension was confirmed'],
    [
      lost('missing'),
      'HANDLE_LOST',
      'the backend no longer has its ticket (its keys were lost, evicted or deleted, the ticket was adopted elsewhere, or it expired while this process stalled)',
    ],
    [lost('revoked'), 'HANDLE_LOST', 'it was revoked'],
    [lost('closed'), 'HANDLE_LOST', 'its semaphore was closed'],
    [failed(cause), 'BACKEND', 'cannot reach Redis: it failed: connect ECONNREFUSED'],
    [failed(new AggregateError(two)), 'BACKEND', 'it failed: one; two'],
    [failed(new AggregateError(two, 'all')), 'BACKEND', 'it failed: all'],
    [failed(new TypeError('')), 'BACKEND', 'it failed: TypeError'],
    [failed(), 'BACKEND', 'it failed'],
    [
      new ClosedError('jo"bs'),
      'CLOSED',
      String.raw`the semaphore "jo\"bs" is closed by close(); make a new one`,
    ],
    [
      new AcquireTimeoutError({ ...details, limit: 0 }),
      'ACQUIRE_TIMEOUT',
      'no permit of "jobs" came free within 500 ms (12 tries in 500 ms); it is paused: its limit is 0, set another with setLimit',
    ],
  ] as const) {
    it(`say: ${message}`, () => {
      const text =
        (code === 'HANDLE_LOST'
          ? `the permit of "jobs" is lost: ${message}; stop the work that it covers (ticket a.1)`
          : message) + `; see: npx redsem help ${code}`;
      expect(error).to.include({ code, message: text, name: error.constructor.name });
      expect(error).to.be.instanceOf(RedsemError).and.instanceOf(Error);
      expect(isRedsemError(error)).to.equal(true);
      expect(error.stack).to.include(text);
    });
  }

  for (const [reply, advised] of [
    [
      "NOPERM this user has no permissions to run the 'evalsha' command or its subcommand",
      'grant it with ACL SETUSER USER +evalsha',
    ],
    [
      "ERR ACL failure in script: User ann has no permissions to run the 'zadd' command script: 1",
      'grant it with ACL SETUSER ann +zadd',
    ],
    ['NOPERM No permissions to access a key', `grant it with ACL SETUSER USER '~app:*'`],
    ['NOPERM No permissions to access a channel', `grant it with ACL SETUSER USER '&app:*'`],
    [
      "ERR The user executing the script can't run this command or subcommand",
      'grant the user the missing right: ACL LOG names it',
    ],
    [
      'WRONGTYPE Operation against a key holding the wrong kind of value',
      'another program has written to one of "app:{a%7Bb%7D%25}:*": delete that key, or use another prefix',
    ],
    [
      "OOM command not allowed when used memory > 'maxmemory'.",
      'raise maxmemory, and keep maxmemory-policy noeviction',
    ],
  ] as const) {
    it(`say what to do about ${reply}`, () => {
      const refusal = new Error(reply);
      const error = new BackendError('it failed', refusal, { name: 'a{b}%', prefix: 'app' });
      const message = `it failed: ${reply}; ${advised}; see: npx redsem help BACKEND`;
      expect(error).to.include({ semaphore: 'a{b}%', message, cause: refusal });
    });
  }

  it('are known across copies of the package, those of other packages are not', async () => {
    const path = `../../src/errors.js?copy`;
    const copy = (await import(path)) as { BackendError: typeof BackendError };
    const foreign = new copy.BackendError('x');
    expect(foreign).not.to.be.instanceOf(BackendError);
    expect(isRedsemError(foreign)).to.equal(true);
    for (const other of [new Error('x'), null, 'x', {}, { code: 'BACKEND' }]) {
      expect(isRedsemError(other)).to.equal(false);
    }
  });
});

describe('ticket ids', () => {
  it('show client, number and permits; clients differ, and look like no option of a command', () => {
    const clients = Array.from({ length: 1000 }, () => newClientId());
    expect(new Set(clients).size).to.equal(1000);
    for (const client of clients) expect(client).to.match(/^\w[\w-]{11}$/);
    for (const client of ['a', 'A-_9', ...clients.slice(0, 9)]) {
      for (const number of [0, 1, 35, 36, 2 ** 40, Number.MAX_SAFE_INTEGER]) {
        for (const permits of [1, 2, 100_000]) {
          const read = parseTicketId(ticketId(client, number, permits));
          expect(read).to.deep.equal({ client, number, permits });
        }
      }
    }
    expect(ticketId('abc', 71, 1)).to.equal('abc.1z');
    expect(ticketId('abc', 71, 12)).to.equal('abc.1z.12');
  });
});
