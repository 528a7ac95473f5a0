import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

import { MemoryBackend, Semaphore } from '../../src/index.js';
import { Keeper, type KeeperOptions, type KeeperWarning } from '../../src/keeper/index.js';
import {
  type BothKinds,
  type ClientFixture,
  itThrough,
  itThroughBothClients,
  newName,
} from '../support/client-fixture.js';
import { eventually } from '../support/eventually.js';
import { programWithThread } from '../support/program-file.js';
import { describeWithServer } from '../support/require-server.js';
import { startProgram, type WorkerProcess } from '../support/worker-process.js';
import type { HolderArguments, HolderReport } from './holder.js';

describeWithServer('a keeper', (server) => {
  const keepers: Keeper[] = [];
  const holders: WorkerProcess[] = [];

  afterEach(async () => {
    for (const holder of holders.splice(0)) holder.kill();
    await Promise.all(keepers.splice(0).map((keeper) => keeper.close()));
  });

  function makeKeeper(kind: BothKinds, more: object = {}): Keeper {
    const { port } = server();
    const options: KeeperOptions =
      kind === 'ioredis'
        ? { ioredis: { port, connectionName: 'keeper', ...more } }
        : { redis: { socket: { port }, name: 'keeper', ...more } };
    const keeper = new Keeper(options);
    keepers.push(keeper);
    return keeper;
  }

  function startHolder(args: Omit<HolderArguments, 'port'>): WorkerProcess {
    const [program = '', thread = ''] = ['holder.ts', '../../src/keeper/worker.ts'].map((file) =>
      fileURLToPath(new URL(file, import.meta.url)),
    );
    const given = { ...args, port: server().port };
    const holder = startProgram(programWithThread(program, thread), given);
    holders.push(holder);
    return holder;
  }

  async function expiryOf(name: string, id?: string): Promise<number> {
    const key = `redsem:{${name}}:tickets`;
    const found = (await server().command('ZRANGE', key, '0', '-1', 'WITHSCORES')) as string[];
    const place =
      id === undefined ? found.findIndex((one) => one.includes('.')) : found.indexOf(id);
    return Number(found[place + 1]);
  }

  /** The ticket's expiry rises so often. */
  async function untilRenewed(name: string, times: number, id?: string): Promise<void> {
    for (let time = 0, last = await expiryOf(name, id); time < times; time++) {
      const before = last;
      await eventually(async () => (await expiryOf(name, id)) > before);
      last = await expiryOf(name, id);
    }
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
    expect(await doneOf(holder)).to.deep.equal({ held: true, lost: [], released: true });
    expect(await holder.exited).to.deep.equal({ code: 0, signal: null });
    expect(await asks.tryAcquire()).to.be.an('object');
  });

  for (const [kind, title, maxStall] of [
    ['redis', 'is needed for that: without it the permit is lost', undefined],
    ['ioredis', 'gives a permit up when the loop is blocked for longer than maxStall', 300],
  ] as const) {
    itThrough(kind, title, async (fixture) => {
      const [name, blockedUntil] = [newName(), join(server().directory, newName())];
      const asks = await other(fixture, name);
      const stall = maxStall === undefined ? {} : { maxStall };
      const holder = startHolder({
        kind,
        name,
        ttl: 1000,
        extendEvery: 50,
        blockedUntil,
        ...stall,
      });
      await holder.next('blocked');
      const handle = await asks.acquire();
      writeFileSync(blockedUntil, '');
      expect(await doneOf(holder)).to.deep.equal({
        held: false,
        lost: ['expired'],
        released: false,
      });
      expect(handle.held).to.equal(true);
    });
  }

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
      const list = String(await server().command('CLIENT', 'LIST'));
      const id = /^id=(\d+).* name=keeper /m.exec(list)?.[1];
      if (id !== undefined) await server().command('CLIENT', 'KILL', 'ID', id);
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

  it('refuses wrong options and targets at once, naming them', async () => {
    const refused: [unknown, RegExp][] = [
      [undefined, /options/],
      [{}, /options: expected one of ioredis, redis and module, got none/],
      [{ ioredis: {}, redis: {} }, /got ioredis, redis/],
      [{ ioredis: 5 }, /ioredis: expected an object/],
      [{ ioredis: { retryStrategy: () => 5 } }, /ioredis: expected options that can cross.*module/],
      [{ module: 5 }, /module: expected the URL of a module, got 5/],
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
    expect(() => open({ keeper: {} })).to.throw(TypeError, /keeper: expected a Keeper/);
  });
});
