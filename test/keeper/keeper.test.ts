import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import threads from 'node:worker_threads';
import { expect } from 'chai';

import { type Handle, MemoryBackend, type RedisTarget } from '../../src/index.js';
import { Semaphore, systemClock } from '../../src/index.js';
import { Keeper, type KeeperOptions, type KeeperWarning } from '../../src/keeper/index.js';
import { MemoryQuorumNode } from '../quorum/memory-node.js';
import { type BothKinds, type ClientFixture, newName } from '../support/client-fixture.js';
import { itThrough, itThroughBothClients } from '../support/client-fixture.js';
import { afterTest } from '../support/after-test.js';
import { eventually } from '../support/eventually.js';
import { programOf } from '../support/program-file.js';
import { describeWithServer } from '../support/require-server.js';
import { uncaughtDuring } from '../support/uncaught.js';
import { isKept } from './is-kept.js';

const WORKER = new URL('../../src/keeper/worker', import.meta.url).href;

/**
 * Starts the thread of a keeper from one built file: a thread that compiles for itself takes a
 * second of processor time. Any other thread starts as usual.
 */
class BuiltWorker extends threads.Worker {
  static last: threads.Worker | undefined;

  constructor(file: URL, options: threads.WorkerOptions) {
    const words = file.href === `${WORKER}.js` ? programOf(fileURLToPath(`${WORKER}.ts`)) : [];
    const [built] = words.length === 1 ? words : [];
    if (built === undefined) super(file, options);
    else super(pathToFileURL(built), { ...options, execArgv: [] });
    BuiltWorker.last = this;
  }
}

threads.Worker = BuiltWorker;
syncBuiltinESMExports();

/** A busy machine starts the thread late. */
const LATE_START = /its module has given no client yet/;

/** Blocks the loop until the permit is lost: the runner cannot end a test that never yields. */
function blockWhileHeld(handle: Handle): void {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let look = 0; handle.held; look += 1) {
    if (look === 8000) throw new Error('the permit is still held');
    Atomics.wait(pause, 0, 0, 5);
  }
}

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
  function moduleThat(how: string, kind: BothKinds, end: string): KeeperOptions {
    const terms = new URLSearchParams({ port: String(server().port), kind, end, how });
    return { module: new URL(`connect.mjs?${terms.toString()}`, import.meta.url) };
  }

  /** A permit under a new name, and the losses that its handle has reported. */
  async function hold(fixture: ClientFixture, keeper: Keeper, options: object = {}) {
    const { target } = await fixture.connect(server().port);
    const [name, lost] = [newName(), [] as string[]];
    const all = { limit: 9, ttl: 60_000, extendEvery: 50, keeper, ...options };
    const semaphore = fixture.semaphore(target, name, all);
    const handle = await semaphore.acquire();
    handle.on('lost', ({ reason }) => lost.push(reason));
    return { name, semaphore, handle, lost };
  }

  async function untilKept(handle: Handle): Promise<void> {
    await eventually(() => isKept(handle));
  }

  /** The expiry of the ticket has risen `times` times. */
  async function untilRenewed(name: string, { id }: Handle, times: number): Promise<void> {
    const look = () => server().command('ZSCORE', `redsem:{${name}}:tickets`, id);
    for (let time = 0, last = 0; time <= times; time++) {
      const before = last;
      await eventually(async () => (last = Number(await look())) > before);
    }
  }

  async function killKeepersConnection(): Promise<void> {
    const list = String(await server().command('CLIENT', 'LIST'));
    const id = /^id=(\d+).* name=keeper /m.exec(list)?.[1];
    if (id !== undefined) await server().command('CLIENT', 'KILL', 'ID', id);
  }

  itThrough('redis', 'renews in a blocked loop, and shows it a revocation', async (fixture) => {
    const [keeper] = make(optionsOf(fixture.kind));
    const { name, handle, lost } = await hold(fixture, keeper, { limit: 1 });
    await untilKept(handle);
    expect(process.getActiveResourcesInfo(), 'keep the process alive').to.not.include(
      'MessagePort',
    );
    const rival = programOf(fileURLToPath(new URL('rival.ts', import.meta.url)));
    const args = JSON.stringify({ port: server().port, name, id: handle.id });
    const env = { ...process.env, REDSEM_WORKER_ARGUMENTS: args };
    const { status, stderr } = spawnSync(process.execPath, rival, { env, timeout: 200_000 });
    expect(status, String(stderr)).to.equal(0);
    blockWhileHeld(handle);
    await eventually(() => expect(lost).to.deep.equal(['revoked']));
    expect(await handle.release()).to.equal(false);
  });

  itThrough(
    'ioredis',
    'gives a permit up in a loop blocked longer than maxStall',
    async (fixture) => {
      const [keeper] = make({ ...optionsOf(fixture.kind), maxStall: 100 });
      const { handle, lost } = await hold(fixture, keeper, { ttl: 1000 });
      // A busy machine may block the loop for so long by itself.
      await eventually(async () => !handle.held || (await isKept(handle)));
      blockWhileHeld(handle);
      await eventually(() => expect(lost).to.deep.equal(['expired']));
    },
  );

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
        await untilRenewed(name, handle, 3);
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
      const { handle, lost } = await hold(fixture, keeper, { ttl: 3000 });
      await eventually(() => warnings.length > 0);
      expect(warnings[0]?.code).to.equal('KEEPER_LOST');
      expect(warnings[0]?.message).to.match(message);
      for (let time = 0; time < 3; time++) await handle.extend();
      expect(await isKept(handle)).to.equal(false);
      expect([handle.held, lost, await handle.release()]).to.deep.equal([true, [], true]);
      expect(JSON.stringify(warnings)).to.not.include('hush');
    });
  }

  for (const [how, kind] of [
    ['exit', 'ioredis'],
    ['throw', 'redis'],
    ['close()', 'ioredis'],
  ] as const) {
    itThrough(kind, `is followed by the main thread on ${how} of its thread`, async (fixture) => {
      const file = join(server().directory, newName());
      const [keeper, warnings] = make(moduleThat(how, kind, file));
      const { name, semaphore, handle, lost } = await hold(fixture, keeper, { ttl: 3000 });
      const others = Array.from({ length: 8 }, () => semaphore.acquire());
      const handles = [handle, ...(await Promise.all(others))];
      await Promise.all(handles.map(untilKept));
      const extending = handles.map((each) => each.extend());
      if (how === 'close()') extending.push(keeper.close(), keeper.close());
      else writeFileSync(file, '');
      extending.push(...handles.map((each) => each.extend()));
      await Promise.all(extending);
      await eventually(async () => !(await isKept(handle)));
      for (const each of handles) await untilRenewed(name, each, 2);
      // A busy machine may warn of a late renewal before.
      const ends = () => warnings.filter(({ message }) => message.includes('has ended'));
      const times = how === 'close()' ? 0 : 1;
      await eventually(() => ends().length === times);
      for (const end of ends()) {
        expect(end).to.include({ code: 'KEEPER_LOST' });
        expect(end.message).to.match(/has ended: (?:code 7|.*the end of its thread)/);
      }
      expect([handle.held, lost]).to.deep.equal([true, []]);
      const released = await Promise.all(handles.map((each) => each.release()));
      expect(released).to.deep.equal(handles.map(() => true));
      expect((await semaphore.inspect()).held).to.equal(0);
    });
  }

  itThrough('ioredis', 'takes a module that was compiled for CommonJS alone', async (fixture) => {
    process.env['REDSEM_KEEPER_PORT'] = String(server().port);
    const [keeper, warnings] = make({ module: new URL('connect.cjs', import.meta.url) });
    await untilKept((await hold(fixture, keeper)).handle);
    expect(warnings).to.deep.equal([]);
  });

  it('hears the other notices of its thread where a listener for a warning throws', async () => {
    const [keeper, warnings] = make(optionsOf('ioredis'));
    const thrown = new Error('of the user');
    keeper.on('warning', () => {
      throw thrown;
    });
    const uncaught = await uncaughtDuring(async () => {
      BuiltWorker.last?.emit('message', [
        { what: 'trouble', text: 'it hangs' },
        { what: 'trouble', text: undefined },
      ]);
      await turn();
    });
    expect([warnings.length, uncaught]).to.deep.equal([1, [thrown]]);
  });

  it('refuses wrong options and targets at once, naming them', async () => {
    const refused: [unknown, RegExp][] = [
      [undefined, /options/],
      [{}, /options: expected one of ioredis, redis and module, got none/],
      [{ ioredis: {}, redis: {} }, /got ioredis, redis/],
      [{ ioredis: 5 }, /ioredis: expected an object/],
      [{ ioredis: { retryStrategy: () => 5 } }, /ioredis: expected options that can cross.*module/],
      [{ ioredis: [] }, /ioredis: expected an object of options/],
      [{ ioredis: null }, /ioredis: expected an object of options, got null/],
      [{ ioredis: null, redis: {} }, /got ioredis, redis/],
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
