import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';

import type { Handle, Semaphore } from '../../src/index.js';
import type { HolderArguments, HolderReport } from '../../test/keeper/holder.js';
import { startHolderProgram } from '../../test/keeper/start-holder.js';
import { expiryOf } from '../../test/keeper/ticket-expiry.js';
import {
  type ClientFixture,
  itThroughBothClients,
  newName,
} from '../../test/support/client-fixture.js';
import { eventually } from '../../test/support/eventually.js';
import { stopwatch, wallTime } from '../../test/support/real-time.js';
import { describeWithServer } from '../../test/support/require-server.js';
import type { WorkerProcess } from '../../test/support/worker-process.js';

const TTL = 3000;
/** Of a holder to the expiry of its ticket, in milliseconds. */
const MARGIN = TTL / 100 + 2;

describeWithServer('a permit of a process whose loop is blocked, with real time', (server) => {
  let holder: WorkerProcess | undefined;

  afterEach(() => holder?.kill());

  interface Stage {
    readonly name: string;
    readonly holder: WorkerProcess;
    readonly asks: Semaphore;
    /** There is one as soon as a look in the blocked loop finds the permit lost. */
    readonly lostFile: string;
    readonly unblock: () => void;
  }

  /** In milliseconds since the epoch. */
  interface GivenUp {
    readonly blockedAt: number;
    readonly expiry: number;
  }

  /** A process that holds a permit, and a semaphore of another that asks for it. */
  async function start(
    fixture: ClientFixture,
    more: Partial<HolderArguments>,
    defaults: Partial<HolderArguments> = { maxStall: 60_000 },
  ): Promise<Stage> {
    const { port, directory } = server();
    const name = more.name ?? newName();
    const blockedUntil = join(directory, name);
    const times = { ttl: TTL, extendEvery: TTL / 3 };
    const { kind } = fixture;
    holder = startHolderProgram({ port, kind, name, blockedUntil, ...times, ...defaults, ...more });
    const { target } = await fixture.connect(port);
    const asks = fixture.semaphore(target, name, { limit: more.permits ?? 1, ttl: 60_000 });
    const unblock = (): void => writeFileSync(blockedUntil, '');
    return { name, holder, asks, lostFile: `${blockedUntil}.lost`, unblock };
  }

  async function doneOf(worker: WorkerProcess): Promise<HolderReport> {
    return (await worker.next('done')).data as HolderReport;
  }

  /** Another asks for so long, and gets nothing. */
  async function askInVain(asks: Semaphore, duration: number): Promise<void> {
    const passed = stopwatch();
    while (passed() < duration) {
      expect(await asks.tryAcquire()).to.equal(null);
      await sleep(5);
    }
  }

  /**
   * Another gets the permit; its holder knew that in its blocked loop, and before it expired: at a
   * moment that `meanwhile` knows, or is read.
   */
  async function expectGivenUp(
    { name, holder: worker, asks, ...stage }: Stage,
    meanwhile: () => Promise<number | void> = () => Promise.resolve(),
  ): Promise<GivenUp> {
    const id = (await worker.next('blocked')).data as string;
    const blockedAt = wallTime();
    const doing = meanwhile();
    let expiry = 0;
    let granted: Handle | null = null;
    while (granted === null) {
      expiry = (await expiryOf(server(), name, id)) || expiry;
      // Of a server that hangs there is no answer.
      granted = await asks.tryAcquire().catch(() => null);
    }
    const end = (await doing) ?? expiry / 1000;
    await eventually(() => existsSync(stage.lostFile));
    stage.unblock();
    const done = await doneOf(worker);
    expect(done).to.deep.include({ held: false, lost: ['expired'], released: false });
    expect(done.believedUntil, '1 % and 2 ms before').to.be.at.most(end - MARGIN);
    expect(granted.held).to.equal(true);
    return { blockedAt, expiry: end };
  }

  itThroughBothClients('is held for four times its life while another asks', async (fixture) => {
    const { holder: worker, asks, unblock } = await start(fixture, {});
    await worker.next('blocked');
    await askInVain(asks, 4 * TTL);
    unblock();
    expect(await doneOf(worker)).to.deep.include({ held: true, lost: [], released: true });
    expect(await asks.tryAcquire()).to.be.an('object');
  });

  itThroughBothClients('is held with 10 000 others', async (fixture) => {
    // A busy machine needs a while to renew them all.
    const times = { ttl: 4 * TTL, extendEvery: TTL };
    const { holder: worker, asks, unblock } = await start(fixture, { permits: 10_000, ...times });
    await worker.next('blocked');
    await askInVain(asks, 16 * TTL);
    unblock();
    expect(await doneOf(worker)).to.deep.include({ held: true, lost: [], released: true });
  });

  itThroughBothClients('is held after it was adopted, and lost by the other', async (fixture) => {
    const { target } = await fixture.connect(server().port);
    const name = newName();
    const from = await fixture.semaphore(target, name, { limit: 1, ttl: TTL }).acquire();
    const { holder: worker, asks, unblock } = await start(fixture, { name, adopts: from.toJSON() });
    await worker.next('blocked');
    await askInVain(asks, 2 * TTL);
    expect(from.held).to.equal(false);
    unblock();
    expect(await doneOf(worker)).to.deep.include({ held: true, lost: [], released: true });
  });

  itThroughBothClients('is held though all connections are killed', async (fixture) => {
    const { holder: worker, asks, unblock } = await start(fixture, {});
    await worker.next('blocked');
    for (let time = 0; time < 4; time++) {
      await server().command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await sleep(TTL / 2);
    }
    await eventually(async () => (await asks.tryAcquire().catch(() => undefined)) === null);
    unblock();
    expect(await doneOf(worker)).to.deep.include({ held: true, lost: [], released: true });
  });

  itThroughBothClients('is held though its server hangs for half of its life', async (fixture) => {
    const { holder: worker, asks, unblock } = await start(fixture, {});
    await worker.next('blocked');
    server().pause();
    await sleep(TTL / 2);
    server().resume();
    await askInVain(asks, 2 * TTL);
    unblock();
    expect(await doneOf(worker)).to.deep.include({ held: true, lost: [], released: true });
  });

  itThroughBothClients('is given up when its server hangs for longer', async (fixture) => {
    const stage = await start(fixture, {});
    await expectGivenUp(stage, async () => {
      server().pause();
      const last = wallTime() + TTL;
      try {
        await eventually(() => existsSync(stage.lostFile));
        await sleep(TTL / 2);
      } finally {
        server().resume();
      }
      return last;
    });
  });

  itThroughBothClients('is lost without a keeper', async (fixture) => {
    await expectGivenUp(await start(fixture, {}, {}));
  });

  itThroughBothClients('is given up where its loop does not come back', async (fixture) => {
    const maxStall = 1500;
    const { blockedAt, expiry } = await expectGivenUp(await start(fixture, { maxStall }));
    expect(expiry - blockedAt).to.be.within(maxStall, maxStall + 2 * TTL);
  });

  itThroughBothClients("is given up when the keeper's thread ends", async (fixture) => {
    const { port, directory } = server();
    const end = join(directory, newName());
    const { kind } = fixture;
    const terms = new URLSearchParams({ port: String(port), kind, end, how: 'exit' });
    const module = new URL(`../../test/keeper/connect.mjs?${terms.toString()}`, import.meta.url);
    const stage = await start(fixture, { module: module.href });
    await expectGivenUp(stage, async () => {
      await sleep(TTL);
      writeFileSync(end, '');
    });
  });

  itThroughBothClients('is lost at once when an operator revokes it', async (fixture) => {
    const { holder: worker, asks, lostFile, unblock } = await start(fixture, {});
    const id = (await worker.next('blocked')).data as string;
    await askInVain(asks, TTL);
    expect(await asks.revoke(id)).to.equal(true);
    await eventually(() => existsSync(lostFile));
    unblock();
    const done = await doneOf(worker);
    expect(done).to.deep.include({ held: false, lost: ['revoked'], released: false });
  });

  itThroughBothClients('ends with a process that is stopped as a whole', async (fixture) => {
    const { holder: worker, asks, unblock } = await start(fixture, {});
    await worker.next('blocked');
    worker.pause();
    const next = await asks.acquire();
    worker.resume();
    unblock();
    expect(await doneOf(worker)).to.deep.include({ held: false, released: false });
    expect(next.held).to.equal(true);
  });

  itThroughBothClients('ends with a process that is killed as it holds it', async (fixture) => {
    const { holder: worker, asks } = await start(fixture, {});
    await worker.next('blocked');
    worker.kill();
    await worker.exited;
    expect((await asks.acquire()).held).to.equal(true);
  });

  itThroughBothClients('does not keep a process alive that holds it', async (fixture) => {
    const { port } = server();
    const [name, times] = [newName(), { ttl: TTL, extendEvery: TTL / 3, maxStall: 60_000 }];
    holder = startHolderProgram({ port, kind: fixture.kind, name, ...times });
    expect((await holder.exited).code).to.equal(0);
    const { target } = await fixture.connect(port);
    const next = await fixture.semaphore(target, name, { limit: 1, ttl: TTL }).acquire();
    expect(next.held).to.equal(true);
  });
});
