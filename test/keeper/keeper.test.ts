import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect } from 'chai';

import {
  type Handle,
  MemoryBackend,
  type RedisTarget,
  Semaphore,
  systemClock,
} from '../../src/index.js';
import { Keeper, type KeeperOptions, type KeeperWarning } from '../../src/keeper/index.js';
import { MemoryQuorumNode } from '../quorum/memory-node.js';
import {
  type BothKinds,
  ClientFixture,
  itThrough,
  itThroughBothClients,
  newName,
} from '../support/client-fixture.js';
import { eventually } from '../support/eventually.js';
import { moment } from '../support/moment.js';
import { startServer } from '../support/redis-server.js';
import { StoredSemaphore } from '../support/stored-semaphore.js';
import { describeWithServer } from '../support/require-server.js';
import type { WorkerProcess } from '../support/worker-process.js';
import type { HolderArguments, HolderReport } from './holder.js';
import type { HolderThread } from './holder-thread.js';
import { isKept } from './is-kept.js';
import { startHolderProgram } from './start-holder.js';
import { expiryOf } from './ticket-expiry.js';

const LATE_START = /its module has given no client yet/;

describeWithServer('a keeper', (server) => {
  const keepers: Keeper[] = [];
  const holders: WorkerProcess[] = [];

  afterEach(async () => {
    for (const holder of holders.splice(0)) holder.kill();
    await Promise.all(keepers.splice(0).map((keeper) => keeper.close()));
  });

  function makeKeeper(kind: BothKinds, more: object = {}, port = server().port): Keeper {
    const options: KeeperOptions =
      kind === 'ioredis'
        ? { ioredis: { port, connectionName: 'keeper', ...more } }
        : { redis: { socket: { port }, name: 'keeper', ...more } };
    const keeper = new Keeper(options);
    keepers.push(keeper);
    return keeper;
  }

  /** But for that of a thread that starts late, as on a busy machine. */
  function warningsOf(keeper: Keeper): KeeperWarning[] {
    const warnings: KeeperWarning[] = [];
    keeper.on('warning', (warning) => {
      if (!LATE_START.test(warning.message)) warnings.push(warning);
    });
    return warnings;
  }

  function watched(options: KeeperOptions): [Keeper, KeeperWarning[]] {
    const keeper = new Keeper(options);
    keepers.push(keeper);
    return [keeper, warningsOf(keeper)];
  }

  async function untilKept(handle: Handle): Promise<void> {
    await eventually(() => isKept(handle));
  }

  function startHolder(args: Omit<HolderArguments, 'port'>): WorkerProcess {
    const all: HolderArguments = { ...args, port: server().port };
    const holder = startHolderProgram(all);
    holders.push(holder);
    return holder;
  }

  /** The ticket's expiry rises so often. */
  async function untilRenewed(
    name: string,
    times: number,
    id?: string,
    at = server(),
  ): Promise<void> {
    const now = (): Promise<number> => expiryOf(at, name, id).catch(() => NaN);
    for (let time = 0, last = 0; time <= times; time++) {
      const before = last;
      await eventually(async () => (last = await now()) > before);
    }
  }

  async function killKeepersConnection(): Promise<void> {
    const list = String(await server().command('CLIENT', 'LIST'));
    const id = /^id=(\d+).* name=keeper /m.exec(list)?.[1];
    if (id !== undefined) await server().command('CLIENT', 'KILL', 'ID', id);
  }

  async function other(fixture: ClientFixture, name: string): Promise<Semaphore> {
    const { target } = await fixture.connect(server().port);
    return fixture.semaphore(target, name, { limit: 1, ttl: 60_000 });
  }

  async function doneOf(holder: WorkerProcess): Promise<HolderReport> {
    return (await holder.next('done')).data as HolderReport;
  }

  itThroughBothClients('holds a permit of a process whose loop is blocked', async (fixture) => {
    const [name, blockedUntil] = [newName(), join(server().directory, newName())];
    const asks = await other(fixture, name);
    const [ttl, extendEvery] = [60_000, 100];
    const { kind } = fixture;
    const holder = startHolder({ kind, name, ttl, extendEvery, maxStall: 60_000, blockedUntil });
    await holder.next('blocked');
    for (let time = 0; time < 5; time++) {
      await untilRenewed(name, 1);
      expect(await asks.tryAcquire()).to.equal(null);
    }
    writeFileSync(blockedUntil, '');
    expect(await doneOf(holder)).to.deep.include({ held: true, lost: [], released: true });
    expect(await holder.exited).to.deep.equal({ code: 0, signal: null });
    expect(await asks.tryAcquire()).to.be.an('object');
  });

  for (const [kind, title, maxStall] of [
    ['redis', 'is needed for that: without it the permit is lost', undefined],
    ['redis', 'gives a permit up when the loop is blocked for longer than maxStall', 1500],
    ['ioredis', 'gives a permit up when the loop is blocked for longer than maxStall', 1500],
  ] as const) {
    itThrough(kind, title, async (fixture) => {
      const [name, blockedUntil] = [newName(), join(server().directory, newName())];
      const asks = await other(fixture, name);
      const stall = maxStall === undefined ? {} : { maxStall };
      const times = { ttl: 1000, extendEvery: 50 };
      const holder = startHolder({ kind, name, blockedUntil, ...times, ...stall });
      const id = (await holder.next('blocked')).data as string;
      let expiry = 0;
      let granted: Handle | null = null;
      while (granted === null) {
        expiry = (await expiryOf(server(), name, id)) || expiry;
        granted = await asks.tryAcquire();
      }
      writeFileSync(blockedUntil, '');
      const done = await doneOf(holder);
      expect(done).to.deep.include({ held: false, lost: ['expired'], released: false });
      expect(done.believedUntil, '1 % and 2 ms before').to.be.within(1, expiry / 1000 - 12);
      expect(granted.held).to.equal(true);
    });
  }

  itThroughBothClients('finds in a blocked loop that a permit is revoked', async (fixture) => {
    const [name, blockedUntil] = [newName(), join(server().directory, newName())];
    const asks = await other(fixture, name);
    const times = { ttl: 60_000, extendEvery: 50, maxStall: 60_000 };
    const holder = startHolder({ kind: fixture.kind, name, blockedUntil, ...times });
    const id = (await holder.next('blocked')).data as string;
    await untilRenewed(name, 2, id);
    expect(await asks.revoke(id)).to.equal(true);
    await eventually(() => existsSync(`${blockedUntil}.lost`));
    writeFileSync(blockedUntil, '');
    const done = await doneOf(holder);
    expect(done).to.deep.include({ held: false, lost: ['revoked'], released: false });
  });

  itThroughBothClients('does not keep a process alive that holds permits', async ({ kind }) => {
    const times = { ttl: 60_000, extendEvery: 100, maxStall: 60_000 };
    const holder = startHolder({ kind, name: newName(), ...times });
    expect((await holder.exited).code).to.equal(0);
  });

  itThrough('redis', 'stops with its process, and both find out', async (fixture) => {
    const [name, blockedUntil] = [newName(), join(server().directory, newName())];
    const asks = await other(fixture, name);
    const { kind } = fixture;
    const times = { ttl: 1000, extendEvery: 50, maxStall: 60_000 };
    const holder = startHolder({ kind, name, blockedUntil, ...times });
    await holder.next('blocked');
    holder.pause();
    await asks.acquire();
    holder.resume();
    writeFileSync(blockedUntil, '');
    expect(await doneOf(holder)).to.include({ held: false, released: false });
  });

  itThrough('ioredis', 'renews 10 000 permits, each with a new expiry', async (fixture) => {
    const { target } = await fixture.connect(server().port);
    const keeper = makeKeeper(fixture.kind);
    const [name, limit] = [newName(), 10_000];
    const options = { limit, ttl: 60_000, extendEvery: 400, keeper };
    const semaphore = fixture.semaphore(target, name, options);
    const handles = await Promise.all(Array.from({ length: limit }, () => semaphore.acquire()));
    const taken = (await server().command('TIME')) as string[];
    const at = `(${Number(taken[0]) * 1e6 + Number(taken[1]) + 60e6}`;
    await eventually(async () => {
      const renewed = await server().command('ZCOUNT', `redsem:{${name}}:tickets`, at, '8e15');
      return renewed === limit;
    });
    expect(new Set(await Promise.all(handles.map((each) => each.release())))).to.deep.equal(
      new Set([true]),
    );
  });

  itThroughBothClients('continues when its connection is killed', async (fixture) => {
    const { target } = await fixture.connect(server().port);
    const keeper = makeKeeper(fixture.kind);
    const name = newName();
    const options = { limit: 1, ttl: 60_000, extendEvery: 50, keeper };
    const semaphore = fixture.semaphore(target, name, options);
    const handle = await semaphore.acquire();
    for (let time = 0; time < 3; time++) {
      await untilRenewed(name, 3);
      await killKeepersConnection();
    }
    await untilRenewed(name, 3);
    expect(handle.held).to.equal(true);
  });

  for (const [title, more] of [
    ['may not log in', { username: 'nobody', password: 'hush-hush' }],
    ['finds no server', { port: 1, socket: { port: 1, reconnectStrategy: false } }],
  ] as const) {
    itThroughBothClients(`warns when it ${title}, and the main thread renews`, async (fixture) => {
      const { target } = await fixture.connect(server().port);
      const keeper = makeKeeper(fixture.kind, more);
      const warnings: KeeperWarning[] = [];
      keeper.on('warning', (warning) => warnings.push(warning));
      const name = newName();
      const options = { limit: 1, ttl: 3000, extendEvery: 50, keeper };
      const semaphore = fixture.semaphore(target, name, options);
      const handle = await semaphore.acquire();
      await untilRenewed(name, 3);
      await eventually(() => warnings.length > 0);
      expect(warnings[0]).to.include({ code: 'KEEPER_LOST' });
      expect(JSON.stringify(warnings)).to.not.include('hush');
      await untilRenewed(name, 3);
      expect(handle.held).to.equal(true);
      expect(await handle.release()).to.equal(true);
    });
  }

  itThroughBothClients('warns when its server wants a password', async (fixture) => {
    const locked = await startServer();
    try {
      const user = ['on', '>hush-hush', 'allkeys', 'allchannels', 'allcommands'];
      await locked.command('ACL', 'SETUSER', 'app', ...user);
      await locked.command('ACL', 'SETUSER', 'default', 'off');
      const login = { username: 'app', password: 'hush-hush' };
      const { target } = await fixture.connect(locked.port, login);
      const keeper = makeKeeper(fixture.kind, {}, locked.port);
      const warnings = warningsOf(keeper);
      const options = { limit: 1, ttl: 3000, extendEvery: 50, keeper };
      const handle = await fixture.semaphore(target, newName(), options).acquire();
      await eventually(() => warnings.length > 0);
      expect(warnings[0]?.message).to.include('NOAUTH');
      for (let time = 0; time < 3; time++) await handle.extend();
      expect([handle.held, await handle.release()]).to.deep.equal([true, true]);
    } finally {
      await locked.stop();
    }
  });

  itThrough('redis', 'leaves its permits to the main thread when it is closed', async (fixture) => {
    const { target } = await fixture.connect(server().port);
    const keeper = makeKeeper(fixture.kind);
    const name = newName();
    const options = { limit: 1, ttl: 3000, extendEvery: 50, keeper };
    const semaphore = fixture.semaphore(target, name, options);
    const handle = await semaphore.acquire();
    await untilRenewed(name, 3);
    await keeper.close();
    await keeper.close();
    await untilRenewed(name, 3);
    await handle.extend();
    expect(handle.held).to.equal(true);
  });

  itThrough('ioredis', 'settles extensions when it is closed meanwhile', async (fixture) => {
    const { target } = await fixture.connect(server().port);
    const keeper = makeKeeper(fixture.kind);
    const warnings = warningsOf(keeper);
    const [name, limit] = [newName(), 50];
    const options = { limit, ttl: 60_000, extendEvery: 1, keeper };
    const semaphore = fixture.semaphore(target, name, options);
    const handles = await Promise.all(Array.from({ length: limit }, () => semaphore.acquire()));
    await Promise.all(handles.map(untilKept));
    const extending = handles.map((handle) => handle.extend());
    const closing = keeper.close();
    extending.push(...handles.map((handle) => handle.extend()));
    await Promise.all([closing, ...extending]);
    const released = await Promise.all(handles.map((handle) => handle.release()));
    expect(new Set(released)).to.deep.equal(new Set([true]));
    expect(await new StoredSemaphore(server(), name).tickets()).to.deep.equal([]);
    expect(warnings).to.deep.equal([]);
  });

  itThrough('ioredis', 'ends with the thread that has made it', async (fixture) => {
    const name = newName();
    const asks = await other(fixture, name);
    const program = new URL('holder-thread.ts', import.meta.url);
    const workerData: HolderThread = { port: server().port, name };
    const thread = new Worker(program, { workerData });
    await once(thread, 'message');
    await untilRenewed(name, 2);
    await thread.terminate();
    expect((await asks.acquire()).held).to.equal(true);
  });

  /** The module of a keeper whose thread does that when there is a file of that name. */
  function moduleThat(how: 'exit' | 'throw' | 'hang', kind: BothKinds, end: string): URL {
    const terms = new URLSearchParams({ port: String(server().port), kind, end, how });
    return new URL(`connect.mjs?${terms.toString()}`, import.meta.url);
  }

  for (const how of ['exit', 'throw'] as const) {
    itThroughBothClients(`warns when its thread ends by ${how}`, async (fixture) => {
      const { target } = await fixture.connect(server().port);
      const name = newName();
      const end = join(server().directory, name);
      const [keeper, warnings] = watched({ module: moduleThat(how, fixture.kind, end) });
      const options = { limit: 1, ttl: 3000, extendEvery: 50, keeper };
      const handle = await fixture.semaphore(target, name, options).acquire();
      await untilRenewed(name, 3);
      await untilKept(handle);
      const extending = handle.extend();
      writeFileSync(end, '');
      await extending;
      await eventually(() => warnings.length > 0);
      expect(warnings[0]?.code).to.equal('KEEPER_LOST');
      expect(warnings[0]?.message).to.match(/has ended: (?:code 7|.*the end of its thread)/);
      await untilRenewed(name, 3);
      await handle.extend();
      expect(handle.held).to.equal(true);
      expect(await handle.release()).to.equal(true);
      expect(warnings).to.have.lengthOf(1);
    });
  }

  itThrough(
    'redis',
    'leaves its permits to the main thread when its own hangs',
    async (fixture) => {
      const { target } = await fixture.connect(server().port);
      const name = newName();
      const end = join(server().directory, name);
      const [keeper] = watched({ module: moduleThat('hang', fixture.kind, end) });
      const options = { limit: 1, ttl: 3000, extendEvery: 50, keeper };
      const handle = await fixture.semaphore(target, name, options).acquire();
      await untilKept(handle);
      let byThisThread = 0;
      const count = (): void => void (byThisThread += 1);
      subscribe('redsem:extend', count);
      writeFileSync(end, '');
      await eventually(() => byThisThread > 3);
      unsubscribe('redsem:extend', count);
      expect(handle.held).to.equal(true);
      expect(await handle.release()).to.equal(true);
    },
  );

  itThrough(
    'redis',
    'continues with a client of a module that hears no errors',
    async (fixture) => {
      const { target } = await fixture.connect(server().port);
      const name = newName();
      const module = moduleThat('exit', fixture.kind, join(server().directory, name));
      const [keeper, warnings] = watched({ module });
      const options = { limit: 1, ttl: 60_000, extendEvery: 50, keeper };
      const handle = await fixture.semaphore(target, name, options).acquire();
      await untilKept(handle);
      await killKeepersConnection();
      await untilRenewed(name, 3);
      await untilKept(handle);
      expect(warnings.map(({ message }) => message).join()).to.not.include('has ended');
    },
  );

  it('takes a module as a compiler makes it that knows CommonJS only', async () => {
    const fixture = new ClientFixture('ioredis');
    process.env['REDSEM_KEEPER_PORT'] = String(server().port);
    const [keeper, warnings] = watched({ module: new URL('connect.cjs', import.meta.url) });
    const { target } = await fixture.connect(server().port);
    const options = { limit: 1, ttl: 60_000, extendEvery: 50, keeper };
    await untilKept(await fixture.semaphore(target, newName(), options).acquire());
    expect(warnings).to.deep.equal([]);
    await fixture.close();
  });

  itThroughBothClients('continues when its server has hung, after a warning', async (fixture) => {
    const { target } = await fixture.connect(server().port);
    const keeper = makeKeeper(fixture.kind);
    const warnings = warningsOf(keeper);
    const [name, lost] = [newName(), [] as string[]];
    const options = { limit: 1, ttl: 60_000, extendEvery: 100, keeper };
    const handle = await fixture.semaphore(target, name, options).acquire();
    handle.on('lost', ({ reason }) => lost.push(reason));
    await untilKept(handle);
    server().pause();
    try {
      await eventually(() => warnings.length > 0);
    } finally {
      server().resume();
    }
    expect(warnings[0]?.message).to.match(/cannot renew: .*no reply within/);
    await untilRenewed(name, 3);
    await untilKept(handle);
    expect([handle.held, lost]).to.deep.equal([true, []]);
  });

  itThroughBothClients('renews on the server that a replica has become', async (fixture) => {
    const [master, replica] = [await startServer(), await startServer()];
    try {
      await replica.command('REPLICAOF', '127.0.0.1', String(master.port));
      await eventually(
        async () => (await replica.stat('replication', 'master_link_status')) === 'up',
      );
      const { target } = await fixture.connect(master.port);
      const keeper = makeKeeper(fixture.kind, {}, master.port);
      const [name, lost] = [newName(), [] as string[]];
      const options = { limit: 1, ttl: 60_000, extendEvery: 100, keeper };
      const handle = await fixture.semaphore(target, name, options).acquire();
      handle.on('lost', ({ reason }) => lost.push(reason));
      await untilKept(handle);
      await eventually(async () => (await expiryOf(replica, name, handle.id)) > 0);
      await master.kill();
      await replica.command('REPLICAOF', 'NO', 'ONE');
      await replica.command('CONFIG', 'SET', 'port', String(master.port));
      await untilRenewed(name, 3, handle.id, master);
      await untilKept(handle);
      expect(String(await master.command('CLIENT', 'LIST'))).to.include(' name=keeper ');
      expect([handle.held, lost]).to.deep.equal([true, []]);
      expect(await handle.release()).to.equal(true);
    } finally {
      await replica.stop();
      await master.stop();
    }
  });

  itThroughBothClients(
    'renews a permit that it has adopted, and loses the one',
    async (fixture) => {
      const { target } = await fixture.connect(server().port);
      const keeper = makeKeeper(fixture.kind);
      const name = newName();
      const options = { limit: 1, ttl: 60_000, extendEvery: 50, keeper };
      const from = await fixture.semaphore(target, name, options).acquire();
      const lost: string[] = [];
      from.on('lost', ({ reason }) => lost.push(reason));
      await untilKept(from);
      const { target: elsewhere } = await fixture.connect(server().port);
      const handle = await fixture.semaphore(elsewhere, name, options).adopt(from.toJSON());
      await untilKept(handle);
      await untilRenewed(name, 3, handle.id);
      await eventually(() => lost.length > 0);
      expect([from.held, lost, handle.held]).to.deep.equal([false, ['missing'], true]);
      expect(await handle.release()).to.equal(true);
    },
  );

  itThroughBothClients('brings no permit back to life that is released', async (fixture) => {
    const { target } = await fixture.connect(server().port);
    const keeper = makeKeeper(fixture.kind);
    const [name, asks] = [newName(), await other(fixture, newName())];
    const options = { limit: 1, ttl: 60_000, extendEvery: 1, keeper };
    const semaphore = fixture.semaphore(target, name, options);
    await untilKept(await asks.acquire().then(() => semaphore.acquire()));
    await semaphore.close();
    const next = fixture.semaphore(target, name, options);
    for (let time = 0; time < 300; time++) {
      const handle = await next.tryAcquire();
      expect(handle, `permit ${time}`).to.be.an('object');
      await moment(time % 4);
      expect(await handle?.release()).to.equal(true);
    }
    // What was on its way has arrived: the keeper has renewed a later permit.
    await untilKept(await fixture.semaphore(target, newName(), options).acquire());
    expect(await new StoredSemaphore(server(), name).tickets()).to.deep.equal([]);
  });

  itThroughBothClients('warns when it reaches another database', async (fixture) => {
    const { target } = await fixture.connect(server().port);
    const more = fixture.kind === 'ioredis' ? { db: 1 } : { database: 1 };
    const keeper = makeKeeper(fixture.kind, more);
    const warnings = warningsOf(keeper);
    const [name, lost] = [newName(), [] as string[]];
    const options = { limit: 1, ttl: 3000, extendEvery: 50, keeper };
    const handle = await fixture.semaphore(target, name, options).acquire();
    handle.on('lost', ({ reason }) => lost.push(reason));
    await eventually(() => warnings.length > 0);
    expect(warnings[0]?.message).to.include(`finds none of "${name}": another server or database?`);
    await untilRenewed(name, 5);
    expect([handle.held, lost, warnings.length]).to.deep.equal([true, [], 1]);
    expect(await handle.release()).to.equal(true);
  });

  itThroughBothClients('serves several semaphores, beside other keepers', async (fixture) => {
    const { target } = await fixture.connect(server().port);
    const [one, two] = [makeKeeper(fixture.kind), makeKeeper(fixture.kind)];
    const open = (keeper: Keeper): Semaphore =>
      fixture.semaphore(target, newName(), { limit: 1, ttl: 60_000, extendEvery: 50, keeper });
    const closed = open(one);
    const handles = [await closed.acquire(), await open(one).acquire(), await open(two).acquire()];
    for (const handle of handles) await untilKept(handle);
    await closed.close();
    expect(await new StoredSemaphore(server(), closed.name).tickets()).to.deep.equal([]);
    await two.close();
    for (const { name } of handles.slice(1)) await untilRenewed(name, 3);
    expect(handles.map(({ held }) => held)).to.deep.equal([false, true, true]);
  });

  it('refuses wrong options and targets at once, naming them', async () => {
    const refused: [unknown, RegExp][] = [
      [undefined, /options/],
      [{}, /options: expected one of ioredis, redis and module, got none/],
      [{ ioredis: {}, redis: {} }, /got ioredis, redis/],
      [{ ioredis: 5 }, /ioredis: expected an object/],
      [{ ioredis: { retryStrategy: () => 5 } }, /ioredis: expected options that can cross.*module/],
      [{ module: 5 }, /module: expected the URL of a module, got 5/],
      [{ module: './connect.js' }, /module: expected the URL of a module, got "\.\/connect/],
      [{ redis: {}, maxStall: 5 }, /maxStall: expected .*100.*got 5/],
      [{ redis: {}, maxstall: 500 }, /maxstall.*maxStall/],
    ];
    for (const [options, message] of refused) {
      expect(() => new Keeper(options as KeeperOptions)).to.throw(message);
    }
    const keeper = makeKeeper('ioredis');
    const open = (options: object): Semaphore =>
      new Semaphore(new MemoryBackend(), 'a', { limit: 1, ...options });
    expect(() => open({ keeper })).to.throw(TypeError, /keeper: expected none in memory/);
    const masters = [new MemoryQuorumNode(systemClock)] as unknown as RedisTarget;
    const onMasters = () => new Semaphore(masters, 'a', { limit: 1, keeper });
    expect(onMasters).to.throw(TypeError, /keeper: expected none on several masters/);
    expect(() => open({ keeper: {} })).to.throw(TypeError, /keeper: expected a Keeper/);
  });
});
