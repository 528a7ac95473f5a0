import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';

import { type Handle, MemoryBackend, type RedisTarget } from '../../src/index.js';
import { Semaphore, systemClock } from '../../src/index.js';
import { Keeper, type KeeperOptions, type KeeperWarning } from '../../src/keeper/index.js';
import { MemoryQuorumNode } from '../quorum/memory-node.js';
import { type BothKinds, type ClientFixture, newName } from '../support/client-fixture.js';
import { itThrough, itThroughBothClients } from '../support/client-fixture.js';
import { afterTest } from '../support/after-test.js';
import { eventually } from '../support/eventually.js';
import { describeWithServer } from '../support/require-server.js';
import './built-worker.js';
import type { HolderArguments, HolderReport } from './holder.js';
import { isKept } from './is-kept.js';
import { startHolderProgram } from './start-holder.js';

/** A busy machine starts the thread late. */
const LATE_START = /its module has given no client yet/;

// What blocked loops, stalls and failovers do to kept permits: `renewals.test.ts` in virtual time,
// the chaos runs with keepers with real processes.
describeWithServer('a keeper', (server) => {
  function make(options: KeeperOptions): [Keeper, KeeperWarning[]] {
    const keeper = new Keeper(options);
    afterTest(() => keeper.close());
    const warnings: KeeperWarning[] = [];
    keeper.on('warning', (warning) => {
      if (!LATE_START.test(warning.message)) warnings.push(warning);
    });
    return [keeper, warnings];
  }

  function optionsOf(kind: BothKinds, more: object = {}): KeeperOptions {
    const { port } = server();
    return kind === 'ioredis'
      ? { ioredis: { port, connectionName: 'keeper', ...more } }
      : { redis: { socket: { port }, name: 'keeper', ...more } };
  }

  /** The options of a module whose thread does `how` when the file `end` exists. */
  function moduleThat(how: 'exit' | 'throw' | 'hang', kind: BothKinds, end: string): KeeperOptions {
    const terms = new URLSearchParams({ port: String(server().port), kind, end, how });
    return { module: new URL(`connect.mjs?${terms.toString()}`, import.meta.url) };
  }

  /** A permit under a new name, and the losses that its handle has reported. */
  async function hold(fixture: ClientFixture, keeper: Keeper, ttl = 60_000) {
    const { target } = await fixture.connect(server().port);
    const [name, lost] = [newName(), [] as string[]];
    const semaphore = fixture.semaphore(target, name, { limit: 9, ttl, extendEvery: 50, keeper });
    const handle = await semaphore.acquire();
    handle.on('lost', ({ reason }) => lost.push(reason));
    return { name, semaphore, handle, lost };
  }

  async function untilKept(handle: Handle): Promise<void> {
    await eventually(() => isKept(handle));
  }

  /** Server time in microseconds at which a ticket, or the first ticket, expires. */
  async function expiryOf(name: string, id?: string): Promise<number> {
    const key = `redsem:{${name}}:tickets`;
    const found = (await server().command('ZRANGE', key, '0', '-1', 'WITHSCORES')) as string[];
    const ticket = id ?? found.find((each) => each.includes('.')) ?? '';
    return Number(found[found.indexOf(ticket) + 1]);
  }

  /** The expiry of the ticket has risen `times` times. */
  async function untilRenewed(name: string, times: number, id?: string): Promise<void> {
    const now = (): Promise<number> => expiryOf(name, id).catch(() => NaN);
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

  /**
   * A process that holds a permit in a blocked loop until `unblock`, and a rival for the permit.
   */
  async function blockedHolder(fixture: ClientFixture, times: Partial<HolderArguments>) {
    const { kind } = fixture;
    const name = newName();
    const blockedUntil = join(server().directory, name);
    const defaults = { port: server().port, ttl: 60_000, extendEvery: 50, maxStall: 60_000 };
    const holder = startHolderProgram({ ...defaults, kind, name, blockedUntil, ...times });
    const { target } = await fixture.connect(server().port);
    const rival = fixture.semaphore(target, name, { limit: 1, ttl: 60_000 });
    const id = (await holder.next('blocked')).data as string;
    const done = async (): Promise<HolderReport> => {
      writeFileSync(blockedUntil, '');
      return (await holder.next('done')).data as HolderReport;
    };
    return { name, id, holder, rival, done, lostFile: `${blockedUntil}.lost` };
  }

  itThroughBothClients('renews in a blocked loop, and shows it a revocation', async (fixture) => {
    const { name, id, holder, rival, done, lostFile } = await blockedHolder(fixture, {});
    for (let time = 0; time < 5; time++) {
      await untilRenewed(name, 1, id);
      expect(await rival.tryAcquire()).to.equal(null);
    }
    expect(existsSync(lostFile)).to.equal(false);
    expect(await rival.revoke(id)).to.equal(true);
    await eventually(() => existsSync(lostFile));
    expect(await done()).to.deep.include({ held: false, lost: ['revoked'], released: false });
    expect(await holder.exited).to.deep.equal({ code: 0, signal: null });
  });

  itThrough('redis', 'gives a permit up after maxStall, before it expires', async (fixture) => {
    const times = { ttl: 1000, maxStall: 1500 };
    const { name, id, rival, done } = await blockedHolder(fixture, times);
    let expiry = 0;
    let granted: Handle | null = null;
    while (granted === null) {
      expiry = (await expiryOf(name, id)) || expiry;
      granted = await rival.tryAcquire();
    }
    const report = await done();
    expect(report).to.deep.include({ held: false, lost: ['expired'], released: false });
    expect(report.believedUntil, '1 % and 2 ms before').to.be.within(1, expiry / 1000 - 12);
    expect(granted.held).to.equal(true);
  });

  itThrough('ioredis', 'does not keep a process alive that holds permits', async ({ kind }) => {
    const times = { ttl: 60_000, extendEvery: 100, maxStall: 60_000 };
    const holder = startHolderProgram({ port: server().port, kind, name: newName(), ...times });
    expect((await holder.exited).code).to.equal(0);
  });

  for (const [kind, source, options] of [
    ['redis', 'options', () => optionsOf('redis')],
    ['ioredis', 'options', () => optionsOf('ioredis')],
    ['redis', 'a module without a listener for errors', () => moduleThat('exit', 'redis', 'never')],
  ] as const) {
    itThrough(kind, `continues when its connection by ${source} is killed`, async (fixture) => {
      const [keeper, warnings] = make(options());
      const { name, handle, lost } = await hold(fixture, keeper);
      for (let time = 0; time < 2; time++) {
        await untilKept(handle);
        await killKeepersConnection();
        await untilRenewed(name, 3);
      }
      await untilKept(handle);
      expect([handle.held, lost]).to.deep.equal([true, []]);
      expect(warnings.map(({ message }) => message).join()).to.not.include('has ended');
    });
  }

  for (const [title, more, message] of [
    ['may not log in', { username: 'nobody', password: 'hush-hush' }, /WRONGPASS/],
    ['finds no server', { port: 1, socket: { port: 1, reconnectStrategy: false } }, /./],
    ['reaches another database', { db: 1, database: 1 }, /finds none of ".*": another server/],
  ] as const) {
    itThroughBothClients(`warns when it ${title}, and the main thread renews`, async (fixture) => {
      const [keeper, warnings] = make(optionsOf(fixture.kind, more));
      const { handle, lost } = await hold(fixture, keeper, 3000);
      await eventually(() => warnings.length > 0);
      expect(warnings[0]?.code).to.equal('KEEPER_LOST');
      expect(warnings[0]?.message).to.match(message);
      for (let time = 0; time < 3; time++) await handle.extend();
      expect(await isKept(handle)).to.equal(false);
      expect([handle.held, lost, await handle.release()]).to.deep.equal([true, [], true]);
      expect(JSON.stringify(warnings)).to.not.include('hush');
    });
  }

  itThrough('ioredis', 'is followed by the main thread when it is closed', async (fixture) => {
    const [keeper, warnings] = make(optionsOf(fixture.kind));
    const { name, semaphore, handle } = await hold(fixture, keeper);
    const others = Array.from({ length: 8 }, () => semaphore.acquire());
    const handles = [handle, ...(await Promise.all(others))];
    await Promise.all(handles.map(untilKept));
    const extending = handles.map((each) => each.extend());
    const closing = keeper.close();
    extending.push(...handles.map((each) => each.extend()));
    await Promise.all([closing, keeper.close(), ...extending]);
    for (const { id } of handles) await untilRenewed(name, 2, id);
    const released = await Promise.all(handles.map((each) => each.release()));
    expect(new Set(released)).to.deep.equal(new Set([true]));
    expect((await semaphore.inspect()).held).to.equal(0);
    expect(warnings).to.deep.equal([]);
  });

  for (const [how, kind] of [
    ['exit', 'ioredis'],
    ['throw', 'redis'],
    ['hang', 'redis'],
  ] as const) {
    itThrough(kind, `is followed by the main thread on ${how} of its thread`, async (fixture) => {
      const file = join(server().directory, newName());
      const [keeper, warnings] = make(moduleThat(how, kind, file));
      const { handle, lost } = await hold(fixture, keeper, 3000);
      await untilKept(handle);
      // A thread that hangs lets an extension wait for 10 s.
      const extending = how === 'hang' ? undefined : handle.extend();
      writeFileSync(file, '');
      await extending;
      await eventually(async () => !(await isKept(handle)));
      if (how !== 'hang') {
        // A busy machine may warn of a late renewal before.
        const ends = () => warnings.filter(({ message }) => message.includes('has ended'));
        await eventually(() => ends().length > 0);
        const [end, ...more] = ends();
        expect(end).to.include({ code: 'KEEPER_LOST' });
        expect(end?.message).to.match(/has ended: (?:code 7|.*the end of its thread)/);
        expect(more).to.deep.equal([]);
      }
      expect([handle.held, lost, await handle.release()]).to.deep.equal([true, [], true]);
    });
  }

  itThrough('ioredis', 'takes a module that was compiled for CommonJS alone', async (fixture) => {
    process.env['REDSEM_KEEPER_PORT'] = String(server().port);
    const [keeper, warnings] = make({ module: new URL('connect.cjs', import.meta.url) });
    await untilKept((await hold(fixture, keeper)).handle);
    expect(warnings).to.deep.equal([]);
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
    const [keeper] = make(optionsOf('ioredis'));
    const open = (options: object): Semaphore =>
      new Semaphore(new MemoryBackend(), 'a', { limit: 1, ...options });
    expect(() => open({ keeper })).to.throw(TypeError, /keeper: expected none in memory/);
    const masters = [new MemoryQuorumNode(systemClock)] as unknown as RedisTarget;
    const onMasters = () => new Semaphore(masters, 'a', { limit: 1, keeper });
    expect(onMasters).to.throw(TypeError, /keeper: expected none on several masters/);
    expect(() => open({ keeper: {} })).to.throw(TypeError, /keeper: expected a Keeper/);
  });
});
