import { expect } from 'chai';
import { hostname } from 'node:os';

import { resolveAcquire, resolveOptions, resolveTry } from '../../src/arguments/resolve.js';
import { newClientId, parseTicketId, ticketId } from '../../src/backends/ticket-id.js';
import * as api from '../../src/index.js';
import { reasonOf } from '../support/rejection.js';

/** In a message of a table below, these dots stand for any text. */
const ANY = ' … ';

/** Calls throw, or reject, with these messages. */
async function expectRefusals(refusals: Record<string, () => unknown>): Promise<void> {
  for (const [message, act] of Object.entries(refusals)) {
    const error = await reasonOf((async () => act())());
    expect(error, message).to.have.property('code', 'INVALID_ARGUMENT');
    const [start = '', ...parts] = message.split(ANY);
    const text = String(error).replace(/^(?:Type|Range)Error: /, '');
    expect(text.slice(0, start.length)).to.equal(start);
    for (const part of [...parts, '; see: npx redsem help INVALID_ARGUMENT']) {
      expect(text).to.include(part);
    }
  }
}

describe('options', () => {
  const backend = new api.MemoryBackend();
  const made = (given: object) => () => resolveOptions({ limit: 1, ...given });
  const on = (client: unknown) => () => new api.Semaphore(client as never, 'x', { limit: 1 });

  it('have their documented defaults, and cannot be changed afterwards', () => {
    const resolved = resolveOptions({ limit: 5 });
    const given = Object.entries(resolved).filter(([, value]) => value !== undefined);
    expect(resolved).to.be.frozen;
    expect(Object.fromEntries(given)).to.deep.equal({
      limit: 5,
      ttl: 30_000,
      extendEvery: 10_000,
      retry: { min: 10, max: 200, factor: 2, jitter: true },
      prefix: 'redsem',
      label: `${hostname()}:${process.pid}`,
      clock: api.systemClock,
    });
    const { retry } = resolveOptions({ limit: 1, retry: { max: 50 } });
    expect(retry).to.deep.equal({ min: 10, max: 50, factor: 2, jitter: true });
    const clock = new api.ManualClock();
    expect(resolveOptions({ limit: 1 }, clock).clock).to.equal(clock);
    const own = resolveOptions({ limit: 1, clock: api.systemClock }, clock);
    expect(own.clock).to.equal(api.systemClock);
    const inherited = Object.create({ lockTimeout: 5 }) as object;
    expect(resolveOptions(Object.assign(inherited, { limit: 1 })).limit).to.equal(1);
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
  });

  it('of tryAcquire are permits, a group and a cost, which names budgets that there are, and whole units', async () => {
    const order = { group: 'a', weight: 1, priority: 0 };
    const { cost: priced, ...rest } = resolveTry({ permits: 2, group: 'a', cost: { tokens: 1 } });
    expect([rest, { ...priced }]).to.deep.equal([{ permits: 2, order }, { tokens: 1 }]);
    const none = { permits: 1, order: undefined, cost: undefined };
    expect([resolveTry(), resolveTry({ cost: {} })]).to.deep.equal([none, none]);
    const trying = (wrong: object) => () => resolveTry(wrong, budgets);
    const budgets = { tokens: { permits: 1, per: 1, burst: 1 } };
    const waiting = (given: object) => () => resolveAcquire(given, undefined, budgets);
    expect({ ...waiting({ cost: { tokens: 4000 } })().cost }).to.deep.equal({ tokens: 4000 });
    for (const taking of [waiting, trying]) {
      const costing = (cost: object) => taking({ cost });
      await expectRefusals({
        'cost.tokns: expected a name among budgets (tokens), got 1': costing({ tokns: 1 }),
        'cost.tokens: expected an integer >= 0, got 1.5': costing({ tokens: 1.5 }),
        'cost.tokens: expected a number, got "1"': costing({ tokens: '1' }),
        'cost: expected an object by names of budgets, got an array': costing([1]),
        'group: expected 1 to 128 bytes, got 0': taking({ group: '' }),
      });
    }
    await expectRefusals({
      'weight: expected no option of this name': trying({ group: 'a', weight: 2 }),
      'timeout: expected no option of this name': trying({ timeout: 0 }),
    });
  });

  // test/unit/arguments.test.ts shows that each option refuses a wrong value by its name; these are
  // the words, the bounds that depend on another option, and the hints.
  it('of every part and class are refused by their names, with their bounds and a hint', async () => {
    const budget = (name: string, amount = 1) => made({ budgets: { [name]: { amount, per: 1 } } });
    const rate = (given: object) => made({ rate: { permits: 1, per: 1, ...given } });
    const five = Object.fromEntries('abcde'.split('').map((name) => [name, { amount: 1, per: 1 }]));
    const none = undefined as never;
    class GlideClient {
      invokeScript(): void {}
    }
    const clients =
      'target: expected a client (new Redis(url) of ioredis or iovalkey, or await createClient({ url }).connect() of redis';
    await expectRefusals({
      [`${clients} … an object, without events: over HTTP?`]: on({ eval() {}, evalsha() {} }),
      [`${clients} … GlideClient: Valkey GLIDE is not supported`]: on(new GlideClient()),
      'limit: expected an integer >= 1 (Infinity only beside a rate)': made({ limit: Infinity }),
      'extendEvery: expected 0 to 50 ms … got 51;': made({ ttl: 100, extendEvery: 51 }),
      'retry.max: expected 300 to 2147483647 ms … 200;': made({ retry: { min: 300 } }),
      'label: expected 0 to 256 bytes, got 258;': made({ label: 'ü'.repeat(129) }),
      'rate.permits: expected an integer from 1 to 1000, got 1001;': rate({ permits: 1001 }),
      'rate.burst: expected … from 1 to 2, got 3;': rate({ per: 15_768_000_000, burst: 3 }),
      'budgets.tokens.amount: expected an integer >= 1, got 0;': budget('tokens', 0),
      'budgets.tokens.burst: expected a number, got null': made({
        budgets: { tokens: { amount: 1, per: 1, burst: null } },
      }),
      'budgets.tokens.burst: expected … from 1 to 11574, got 11575;': made({
        budgets: { tokens: { amount: 1, per: 86_400_000, burst: 11_575 } },
      }),
      'budgets: expected a name of 1 to 32 letters, digits and _ . -, got "a b"': budget('a b'),
      'budgets: expected at most 4, got 5;': made({ budgets: five }),
      'groupLimit: expected an integer >= 1, got 0;': made({ groupLimit: 0 }),
      'options: expected an object with a limit, got undefined;': () => resolveOptions(none),
      'retry.minimum:  … one of min, max, factor, jitter': made({ retry: { minimum: 5 } }),
      'replicas.timeOut:  … did you mean timeout': made({ replicas: { atLeast: 1, timeOut: 5 } }),
      'ttl:  … it is an option of the constructor': () => resolveAcquire({ ttl: 5 } as object),
      'timeout: expected a number … or an options object, got "5"': () =>
        resolveAcquire('5' as never),
      'weight:  … add group, or use permits': () => resolveAcquire({ weight: 2 }),
      'rate.limit:  … did you mean rate.permits': made({ rate: { limit: 5, per: 1 } }),
      'rate.interval:  … mean rate.per?': made({ rate: { interval: 5, permits: 1 } }),
      'clok:  … did you mean clock': () => new api.MemoryBackend({ clok: 1 } as object),
      'keyPrefix:  … mean prefix': () => api.listSemaphores(backend, { keyPrefix: 'a' } as object),
      'othersets:  … did you mean otherSet': () => api.quorum({}, { othersets: 'warn' } as object),
      'stripe:  … did you mean stripes': () => new api.KeyedMutex(backend, { stripe: 1 } as object),
      'lockTimeout:  … mean ttl': () => new api.Mutex(backend, 'a', { lockTimeout: 1 } as object),
      'rate: expected none, because a writer takes all': () =>
        new api.ReadWriteLock(backend, 'a', { rate: 1 } as object),
    });
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
      const message = `${option}: expected no option of this name (${hint}), got undefined;`;
      await expectRefusals({ [message]: made({ [option]: undefined }) });
    }
  });
});

describe('errors', () => {
  const cause = new Error('connect ECONNREFUSED');
  const failed = (why?: unknown) => new api.BackendError('it failed', why);
  const lostBy = (why: string): string =>
    `HANDLE_LOST: the permit of "jobs" is lost: ${why}; stop the work that it covers (ticket a.1)`;
  const lost = (reason: api.LostReason) =>
    new api.HandleLostError('jobs', 'a.1', reason, undefined);
  const two = [new Error('one'), new Error('two')];
  const late = { name: 'jobs', timeout: 500, waited: 500.4, attempts: 12 };

  for (const [message, error] of Object.entries<api.RedsemError>({
    'ACQUIRE_TIMEOUT: cannot reach Redis: no permit of "jobs" came free within 500 ms (1 try in 500 ms); last error: connect ECONNREFUSED':
      new api.AcquireTimeoutError({ ...late, attempts: 1 }, cause),
    'ACQUIRE_TIMEOUT: no permit of "jobs" came free within 500 ms (12 tries in 500 ms); it is paused: its limit is 0, set another with setLimit':
      new api.AcquireTimeoutError({ ...late, limit: 0 }),
    'BACKEND: cannot reach Redis: it failed: connect ECONNREFUSED': failed(cause),
    'BACKEND: it failed: one; two': failed(new AggregateError(two)),
    'BACKEND: it failed: all': failed(new AggregateError(two, 'all')),
    'BACKEND: it failed: TypeError': failed(new TypeError('')),
    'BACKEND: it failed': failed(),
    [String.raw`CLOSED: the semaphore "jo\"bs" is closed by close(); make a new one`]:
      new api.ClosedError('jo"bs'),
    [lostBy('its lease ran out before an extension was confirmed')]: lost('expired'),
    [lostBy(
      'the backend no longer has its ticket (its keys were lost, evicted or deleted, the ticket was adopted elsewhere, or it expired while this process stalled)',
    )]: lost('missing'),
    [lostBy('it was revoked')]: lost('revoked'),
    [lostBy('its semaphore was closed')]: lost('closed'),
  })) {
    it(`say: ${message}`, () => {
      const [code = ''] = message.split(': ');
      const text = `${message.slice(code.length + 2)}; see: npx redsem help ${code}`;
      expect(error).to.include({ code, message: text, name: error.constructor.name });
      expect(error).to.be.instanceOf(api.RedsemError).and.instanceOf(Error);
      expect(api.isRedsemError(error)).to.equal(true);
      expect(error.stack).to.include(text);
    });
  }

  for (const [reply, advised] of Object.entries({
    "NOPERM this user has no permissions to run the 'evalsha' command or its subcommand":
      'grant it with ACL SETUSER USER +evalsha',
    "ERR ACL failure in script: User ann has no permissions to run the 'zadd' command script: 1":
      'grant it with ACL SETUSER ann +zadd',
    'NOPERM No permissions to access a key': `grant it with ACL SETUSER USER '~app:*'`,
    'NOPERM No permissions to access a channel': `grant it with ACL SETUSER USER '&app:*'`,
    "ERR The user executing the script can't run this command or subcommand":
      'grant the user the missing right: ACL LOG names it',
    'WRONGTYPE Operation against a key holding the wrong kind of value':
      'another program has written to one of "app:{a%7Bb%7D%25}:*": delete that key, or use another prefix',
    "OOM command not allowed when used memory > 'maxmemory'.":
      'raise maxmemory, and keep maxmemory-policy noeviction',
  })) {
    it(`say what to do about ${reply}`, () => {
      const refusal = new Error(reply);
      const error = new api.BackendError('it failed', refusal, { name: 'a{b}%', prefix: 'app' });
      const message = `it failed: ${reply}; ${advised}; see: npx redsem help BACKEND`;
      expect(error).to.include({ semaphore: 'a{b}%', message, cause: refusal });
    });
  }

  it('are known across copies of the package, errors of other packages are not', async () => {
    const path = `../../src/errors.js?copy`;
    const copy = (await import(path)) as { BackendError: typeof api.BackendError };
    const foreign = new copy.BackendError('x');
    expect(foreign).not.to.be.instanceOf(api.BackendError);
    expect(api.isRedsemError(foreign)).to.equal(true);
    for (const other of [new Error('x'), null, 'x', {}, { code: 'BACKEND' }]) {
      expect(api.isRedsemError(other)).to.equal(false);
    }
  });
});

it('ticket ids show client, number and permits; clients differ, and look like no option of a command', () => {
  const clients = Array.from({ length: 1000 }, () => newClientId());
  expect(new Set(clients).size).to.equal(1000);
  for (const client of clients) expect(client).to.match(/^\w[\w-]{11}$/);
  for (const client of ['a', 'A-_9', ...clients.slice(0, 9)]) {
    for (const number of [0, 1, 35, 36, 2 ** 40, Number.MAX_SAFE_INTEGER]) {
      const known = { client, number, permits: number % 7 || 100_000 };
      expect(parseTicketId(ticketId(client, number, known.permits))).to.deep.equal(known);
    }
  }
  expect([ticketId('abc', 71, 1), ticketId('abc', 71, 12)]).to.deep.equal(['abc.1z', 'abc.1z.12']);
});
