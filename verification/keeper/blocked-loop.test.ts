import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';

import type { Handle, Semaphore } from '../../src/index.js';
import type { HolderArguments, HolderReport } from '../../test/keeper/holder.js';
import { startHolderProgram } from '../../test/keeper/start-holder.js';
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
/** A holder stops believing this many milliseconds before its ticket expires. */
const MARGIN = TTL / 100 + 2;

interface Stage {
  readonly holder: WorkerProcess;
  /** A semaphore of another process that asks for the permit. */
  readonly asks: Semaphore;
  /** The file is there as soon as the blocked loop finds the permit lost. */
  readonly lostFile: string;
  readonly unblock: () => void;
}

/** `test/keeper` has the same without real time, and the other ways in which a keeper may fail. */
describeWithServer('a permit of a process whose loop is blocked, with real time', (server) => {
  let holder: WorkerProcess | undefined;

  afterEach(() => holder?.kill());

  async function start(
    fixture: ClientFixture,
    more: Partial<HolderArguments> = {},
  ): Promise<Stage> {
    const { port, directory } = server();
    const name = newName();
    const blockedUntil = join(directory, name);
    const times = { ttl: TTL, extendEvery: TTL / 3, maxStall: 60_000 };
    holder = startHolderProgram({
      port,
      kind: fixture.kind,
      name,
      blockedUntil,
      ...times,
      ...more,
    });
    const { target } = await fixture.connect(port);
    const asks = fixture.semaphore(target, name, { limit: more.permits ?? 1, ttl: 60_000 });
    await holder.next('blocked');
    const unblock = (): void => writeFileSync(blockedUntil, '');
    return { holder, asks, lostFile: `${blockedUntil}.lost`, unblock };
  }

  async function reportOf({ holder: worker, unblock }: Stage): Promise<HolderReport> {
    unblock();
    return (await worker.next('done')).data as HolderReport;
  }

  async function expectHeldFor(stage: Stage, duration: number): Promise<void> {
    const passed = stopwatch();
    while (passed() < duration) {
      expect(await stage.asks.tryAcquire()).to.equal(null);
      await sleep(5);
    }
    const report = await reportOf(stage);
    expect(report).to.deep.include({ held: true, lost: [], released: true });
  }

  itThroughBothClients('is held for four times its life while another asks', async (fixture) => {
    const stage = await start(fixture);
    await expectHeldFor(stage, 4 * TTL);
    expect(await stage.asks.tryAcquire()).to.be.an('object');
  });

  itThroughBothClients('is held with 10 000 others', async (fixture) => {
    // A busy machine needs a while to renew them all.
    const times = { ttl: 4 * TTL, extendEvery: TTL };
    await expectHeldFor(await start(fixture, { permits: 10_000, ...times }), 16 * TTL);
  });

  itThroughBothClients('is given up before it expires when its server hangs', async (fixture) => {
    const stage = await start(fixture);
    server().pause();
    const last = wallTime() + TTL;
    try {
      await eventually(() => existsSync(stage.lostFile));
      await sleep(TTL / 2);
    } finally {
      server().resume();
    }
    let granted: Handle | null = null;
    while (granted === null) granted = await stage.asks.tryAcquire().catch(() => null);
    const report = await reportOf(stage);
    expect(report).to.deep.include({ held: false, lost: ['expired'], released: false });
    expect(report.believedUntil, '1 % and 2 ms before').to.be.at.most(last - MARGIN);
    expect(granted.held).to.equal(true);
  });
});
