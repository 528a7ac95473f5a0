import { inspect } from 'node:util';
import { expect } from 'chai';

import { formatValue } from '../../src/arguments/shown.js';
import { QuorumError } from '../../src/errors.js';
import * as api from '../../src/index.js';
import { webView } from '../../src/web/index.js';
import { thrownBy } from '../conformance/scope.js';
import { warningsDuring } from '../support/warnings.js';
import { reasonOf } from '../support/rejection.js';
import { ChannelLog } from '../telemetry/channel-log.js';
import { OtelFixture } from '../telemetry/otel-fixture.js';
import { endLooks, get, viewFixture } from '../web/web-fixture.js';
import { heldFixture, stubFixture } from './stub-fixture.js';

const SECRET = 'hunter2';
const URLS = [
  `redis://user:${SECRET}@host:6379/0`,
  `rediss://:${SECRET}@host`,
  `REDIS://user:p%40${SECRET}%2f@host`,
  `redis://user:a/b#c?${SECRET}@d@host`,
  `tried redis://host, then redis://u:${SECRET}@host; "redis://u:x\\"${SECRET}@host" failed`,
  `redis://host?x=1&password=${SECRET}`,
  encodeURIComponent(`redis://user:${SECRET}@host`),
  encodeURIComponent(encodeURIComponent(`redis://user:${SECRET}@host`)),
  `//user:${SECRET}@host`,
  // Too long for a message, so that it is cut.
  `redis://user:${SECRET}${'x'.repeat(200)}@host`,
  `redis://user:${'x'.repeat(70)}${SECRET}@host`,
];
const [URL_WITH_PASSWORD = ''] = URLS;

/** As a log prints it: with all causes and fields. */
function expectNoSecret(value: unknown, where: string): void {
  expect(value, where).not.to.equal(undefined);
  expect(inspect(value, { depth: 9, showHidden: true }), where).not.to.include(SECRET);
}

/** Errors of clients for a login that fails, and for an address. */
function clientErrors(): Error[] {
  const login = Object.assign(new Error('WRONGPASS invalid username-password pair'), {
    command: { name: 'auth', args: ['user', SECRET] },
  });
  const nested = new Error('no connection', { cause: new Error(`to ${URL_WITH_PASSWORD}`) });
  const several = new AggregateError(URLS.map((url) => new Error(`cannot connect to ${url}`)));
  const fields = Object.assign(new TypeError('Invalid URL'), {
    input: URL_WITH_PASSWORD,
    options: { password: SECRET },
  });
  return [login, nested, several, fields, ...URLS.map((url) => new Error(`ECONNREFUSED ${url}`))];
}

it('a value in a message has 100 characters at most and no credentials, a class or a function its name alone', () => {
  for (const url of [...URLS, `user:${SECRET}@host:6379`, `:${SECRET}@host`]) {
    const text = formatValue(url);
    expect(text).to.match(/^".*" \(string\)$/);
    expect(text).to.have.length.of.at.most(100).and.not.include(SECRET);
  }
  expect(formatValue(URL_WITH_PASSWORD)).to.equal('"redis://***@host:6379/0" (string)');
  const [long] = Object.values({ [`f${'x'.repeat(5000)}`]: () => {} });
  const symbol = Symbol('y'.repeat(500));
  for (const value of ['x'.repeat(5000), '\0'.repeat(99), symbol, 9n ** 999n, long])
    expect(formatValue(value)).to.have.length.of.at.most(100);
  class Foo {
    readonly text = SECRET;
  }
  for (const [value, shown] of [
    [Foo, 'class Foo'],
    [function bar() {}, 'function bar'],
    [() => SECRET, 'a function without a name'],
    [new Foo(), 'an object of class Foo'],
    [{ SECRET }, 'an object'],
    [[SECRET], 'an array'],
    [Map, 'function Map'],
  ] as const) {
    expect(formatValue(value)).to.equal(shown);
  }
  const { message } = thrownBy(() => new api.Semaphore(Foo as never, 'a', { limit: 1 })) as Error;
  expect(message).to.include('got class Foo;').and.have.length.below(300);
});

// test/unit/arguments.test.ts has the arguments of each call.
it('no secret is in the refusal of a target, a node or another option, nor in an error for a name', async () => {
  const backend = new api.MemoryBackend();
  const connection = { runBySha: () => 0, runByText: () => 0 } as unknown as api.SingleTarget;
  for (const url of URLS) {
    const named = { [url.slice(0, 250)]: connection };
    const others = [{ [url]: url }, { password: SECRET }, { secret: SECRET }, { auth: SECRET }];
    const refused = [
      ...[url, [url], { url }, [{ url }]].map((target) => {
        return () => new api.Semaphore(target as never, 'a', { limit: 1 });
      }),
      ...others.map((wrong) => () => new api.Semaphore(backend, 'a', { limit: 1, ...wrong })),
      ...[...others, url].map((wrong) => () => webView(backend, wrong as object)),
      () => webView(backend, { hosts: url as never }),
      () => api.quorum(url as never),
      () => api.quorum(named, { lists: [['other']] }),
      () => api.quorum({ node: connection }, { lists: [['node', url]] }),
      () => api.quorum(named, { otherSet: url as never }),
    ];
    for (const act of refused) expectNoSecret(thrownBy(act), String(act));
    const semaphore = new api.Semaphore(backend, url, { limit: 1 });
    const held = await semaphore.acquire();
    const errors = [semaphore.acquire(0), semaphore.acquire({ permits: 2 })].map(reasonOf);
    await Promise.all(errors);
    await semaphore.close();
    for (const error of [...errors, reasonOf(semaphore.acquire()), reasonOf(held.extend())])
      expect(((await error) as Error).message).not.to.include(SECRET);
  }
  const token = 123_456_789_012_345;
  const error = thrownBy(() => webView(backend, { token: token as never }));
  expect(inspect(error)).to.include('got number').and.not.include(String(token));
});

describe('no secret is in the error of a client:', () => {
  it('an error without a secret stays the same, else a copy of its class replaces it', async () => {
    const { semaphore, backend } = stubFixture();
    backend.isRetryable = () => false;
    const plain = Object.assign(new TypeError('NOPERM'), { command: { args: [1] } });
    const circle = new RangeError(URL_WITH_PASSWORD);
    circle.cause = circle;
    for (const error of [plain, circle]) {
      backend.onAcquire = () => Promise.reject(error);
      const { cause } = (await reasonOf(semaphore.acquire())) as Error;
      expect(cause === error).to.equal(error === plain);
      expect(cause).to.be.instanceOf(error.constructor).and.have.property('name', error.name);
    }
    expect(circle.message, 'the error of the client itself').to.include(SECRET);
  });

  it('in errors of calls, in events, warnings, channels and telemetry', async () => {
    const otel = new OtelFixture('jobs');
    const log = new ChannelLog('jobs');
    for (const error of clientErrors()) {
      const seen: unknown[] = [];
      const { semaphore, backend, clock, handle } = await heldFixture({ ttl: 12_000 });
      semaphore.on('warning', (warning) => seen.push(warning));
      handle.on('lost', (loss) => seen.push(loss));
      const failing = (): Promise<never> => Promise.reject(error);
      for (const call of ['onAcquire', 'onExtend', 'onRelease', 'onInspect'] as const)
        backend[call] = failing;
      const waiting = reasonOf(semaphore.acquire(30_000));
      const calls = [semaphore.tryAcquire(), semaphore.inspect()].map(reasonOf);
      await clock.advance(40_000);
      seen.push(await waiting, ...(await Promise.all(calls)), handle.signal.reason);
      backend.isRetryable = () => false;
      seen.push(await reasonOf(semaphore.acquire()));
      backend.onAcquire = (call) => backend.allGranted(call);
      await Promise.all([semaphore.use(() => {}), clock.advance(1)]);
      await Promise.all([semaphore.close(), clock.advance(60_000)]);
      expect(seen).to.have.length.of.at.least(7);
      for (const each of seen) expectNoSecret(each, error.message);
      expect(seen.filter(api.isRedsemError)).to.have.length.of.at.least(5);
    }
    expectNoSecret(log.of('redsem:extend'), 'extensions');
    expectNoSecret(log.of('redsem:release'), 'releases');
    const spans = otel.spans().map((span) => [span.status, span.events, span.attributes]);
    expect(spans).to.have.length.of.at.least(3);
    expectNoSecret(spans, 'spans');
    await otel.close();
  });

  it('in labels, in telemetry of names, and in the state of a web view', async () => {
    const { backend: memory, view } = viewFixture();
    const semaphore = new api.Semaphore(memory, 'jobs', { limit: 1, label: URL_WITH_PASSWORD });
    const otel = new OtelFixture('redis://***@host:6379/0');
    await using named = new api.Semaphore(memory, URL_WITH_PASSWORD, { limit: 1 });
    await named.use(() => {});
    expect(otel.spans()).to.have.lengthOf(2);
    expect((await otel.times('wait_time')).count).to.equal(1);
    await otel.close();
    const handle = await semaphore.acquire();
    expectNoSecret(await semaphore.inspect(), 'labels');
    expectNoSecret(await (await get(view, '/api/semaphore?name=jobs')).text(), 'labels');
    await handle.release();
    const broken = stubFixture();
    broken.backend.onInspect = () => Promise.reject(new Error(`no way to ${URL_WITH_PASSWORD}`));
    const failing = webView(broken.backend, { names: ['jobs'], clock: endLooks(broken.clock) });
    const answer = get(failing, '/api/list');
    await broken.clock.advance(5000);
    const text = await (await answer).text();
    expect(text).to.include('no way to redis://***@host');
    expectNoSecret(text, 'the state');
  });

  it('in warnings of the process, and of other nodes', async () => {
    const node = `node of ${URL_WITH_PASSWORD}`;
    for (const errors of [[new Error(URL_WITH_PASSWORD)], clientErrors()])
      expectNoSecret(new QuorumError(2, errors, node), 'a quorum');
    const run = () => Promise.reject(new Error(`ERR ${URL_WITH_PASSWORD}`));
    const connection: api.RedisConnection = { runBySha: run, runByText: run };
    const warnings = await warningsDuring(async () => {
      const all = { limit: 1, ttl: 200 };
      const quorum = api.quorum({ [URL_WITH_PASSWORD]: connection });
      await using several = new api.Semaphore(quorum, 'a', all);
      expectNoSecret(await reasonOf(several.tryAcquire()), 'a call of several masters');
      await using one = new api.Semaphore(connection, 'a', all);
      expectNoSecret(await reasonOf(one.inspect()), 'a call');
      const names = api.listSemaphores(connection);
      expectNoSecret(await reasonOf(names.next()), 'a list');
    });
    expect(inspect(warnings)).not.to.include(SECRET);
  });
});
