import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';

import * as api from '../../src/index.js';
import { Keeper, type KeeperOptions } from '../../src/keeper/index.js';
import { instrument, type InstrumentOptions } from '../../src/otel/index.js';
import { webView, type WebViewOptions } from '../../src/web/index.js';

const NAMES =
  'AcquireTimeoutError BackendError ClosedError CompositeHandle Election Handle HandleLostError ' +
  'KeyedHandle KeyedMutex KeyedSemaphore ManualClock MemoryBackend Mutex QueueFullError QuorumError ' +
  'ReadWriteLock RedsemError Semaphore acquireAll isRedsemError listSemaphores quorum systemClock useAll';

type Words<S extends string> = S extends `${infer First} ${infer More}` ? First | Words<More> : S;

/** Undefined is as if an option was left out. It does not compile without an option. */
function unset<S extends string>(names: S): Record<Words<S>, undefined> {
  const entries = names.split(' ').map((name) => [name, undefined]);
  return Object.fromEntries(entries) as Record<Words<S>, undefined>;
}

const retry: Record<keyof api.RetryOptions, undefined> = unset('min max factor jitter');
const options = {
  ...unset('ttl extendEvery prefix label replicas maxWaiting rate budgets groupLimit keeper clock'),
  retry,
} satisfies Record<keyof Omit<api.SemaphoreOptions, 'limit'>, object | undefined>;
const acquire: Record<keyof api.AcquireOptions, undefined> = unset(
  'timeout signal permits group weight priority cost onWaiting',
);
const view: Record<keyof WebViewOptions, undefined> = unset(
  'prefix basePath actions authorize token hosts origin onError names clock',
);
const keeper: Record<keyof KeeperOptions, undefined> = unset('ioredis redis module maxStall');
const telemetry: Record<keyof InstrumentOptions, undefined> = unset(
  'meterProvider tracerProvider groupBy semaphores',
);

/** The fake of a user: a plain object with these members. */
type Fake<Like, Names extends string> = Pick<
  Like,
  (Words<Names> | typeof Symbol.asyncDispose) & keyof Like
>;
type FakeHandle = Fake<
  api.HandleLike,
  'id name slot slots fencingToken signal held expiresIn assertHeld extend release toJSON on'
>;
type FakeSemaphore = Fake<
  api.SemaphoreLike,
  'name limit acquire tryAcquire use tryUse inspect setLimit addPermits setRate revoke close'
>;

describe('the public API', () => {
  it('has these names, and no others', () => {
    expect(Object.keys(api).toSorted().join(' ')).to.equal(NAMES);
  });

  it('takes undefined for each optional option', async () => {
    const backend = new api.MemoryBackend({ clock: undefined });
    const semaphore = new api.Semaphore(backend, 'jobs', { limit: 1, ...options });
    await (await semaphore.acquire(acquire)).release();
    await (await semaphore.tryAcquire({ permits: undefined }))?.release();
    await semaphore.setRate({ permits: 5, per: 1000, burst: undefined });
    await semaphore.close({ drain: undefined });
    const named = { name: undefined, ...options };
    const locks = [
      new api.Mutex(backend, 'mutex', options),
      new api.KeyedMutex(backend, { ...named, stripes: undefined }),
      new api.KeyedSemaphore(backend, { ...named, limit: 2 }),
      new api.ReadWriteLock(backend, 'files', { ...options, limit: undefined }),
      new api.Election(backend, 'leader', { ...options, again: undefined }),
    ];
    await (await api.acquireAll([], { timeout: undefined, signal: undefined })).release();
    for (const lock of locks) await lock.close();
    const names: string[] = [];
    for await (const name of api.listSemaphores(backend, { prefix: undefined })) names.push(name);
    expect(names).to.deep.equal(['jobs']);
    expect(() => api.quorum({}, { lists: undefined, otherSet: undefined })).to.throw(RangeError);
    expect((await webView(backend, view)(new Request('http://localhost/'))).status).to.equal(200);
    expect(() => new Keeper(keeper)).to.throw('expected one of ioredis, redis and module');
    instrument(telemetry)();
  });

  it('has each option in a table of the docs', () => {
    const tables = {
      'reference/options.md, Options of Semaphore': { limit: 1, ...options },
      'reference/options.md, Options of acquire and use': acquire,
      'reference/options.md, Options of Keeper': keeper,
      'reference/telemetry.md, Options of instrument': telemetry,
      'guides/web-view.md, Options': view,
    };
    for (const [where, known] of Object.entries(tables)) {
      const [path = '', heading = ''] = where.split(', ');
      const page = readFileSync(new URL(`../../docs/${path}`, import.meta.url), 'utf8');
      const [, section = ''] = page.split(new RegExp(`^#+ ${heading}$`, 'm'));
      const [text = ''] = section.split(/^#/m);
      const names = [...text.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name);
      expect(names, where).to.have.members(Object.keys(known));
    }
  });

  it('has interfaces that its own classes and the fake of a user implement', async () => {
    // A further member of an interface does not compile here, and would break fakes; nor does a
    // public constructor of handles, which only semaphores make.
    type IsPublic = typeof api.Handle extends new (...args: never[]) => unknown ? true : false;
    const isPublic: IsPublic = false;
    const faked = (fake: FakeSemaphore): api.SemaphoreLike => fake;
    const held = ({ held: isHeld }: api.HandleLike): boolean => isHeld;
    const semaphore = faked(new api.Semaphore(new api.MemoryBackend(), 'jobs', { limit: 1 }));
    expect(await semaphore.use((handle: FakeHandle) => held(handle))).to.equal(!isPublic);
    await semaphore.close();
  });

  it('shows a semaphore and a handle by their main fields', async () => {
    const clock = new api.ManualClock();
    const semaphore = new api.Mutex(new api.MemoryBackend({ clock }), 'jobs');
    const handle = await semaphore.acquire();
    expect(inspect([semaphore, handle], { breakLength: Infinity })).to.match(
      /^\[ Mutex { name: 'jobs', limit: 1 }, Handle { name: 'jobs', held: true, slot: 0, expiresIn: [\d.]+ } ]$/,
    );
    await handle.release();
    expect(inspect(handle)).to.include('held: false').and.to.include('expiresIn: 0');
    await semaphore.close();
  });

  it('refuses a listener for an event of handles on a semaphore', () => {
    const semaphore = new api.Semaphore(new api.MemoryBackend(), 'jobs', { limit: 1 });
    const listen = (event: string) => () => semaphore.once(event as 'warning', () => {});
    for (const event of ['lost', 'released']) {
      const message = `event: expected warning (${event} is an event of a handle), got '${event}'`;
      expect(listen(event)).to.throw(TypeError, message);
      expect(semaphore.listenerCount(event as 'warning')).to.equal(0);
    }
    expect(listen('warning')).to.not.throw();
  });
});
