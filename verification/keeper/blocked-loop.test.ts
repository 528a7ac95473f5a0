import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';

import type { Semaphore } from '../../src/index.js';
import type { HolderArguments, HolderReport } from '../../test/keeper/holder.js';
import { startHolderProgram } from '../../test/keeper/start-holder.js';
import {
  type ClientFixture,
  itThroughBothClients,
  newName,
} from '../../test/support/client-fixture.js';
import { stopwatch } from '../../test/support/real-time.js';
import { describeWithServer } from '../../test/support/require-server.js';
import type { WorkerProcess } from '../../test/support/worker-process.js';

const TTL = 3000;

describeWithServer('a permit of a process whose loop is blocked, with real time', (server) => {
  let holder: WorkerProcess | undefined;

  afterEach(() => holder?.kill());

  /** A process that holds a permit, and a semaphore of another that asks for it. */
  async function start(
    fixture: ClientFixture,
    more: Partial<HolderArguments>,
  ): Promise<{
    readonly holder: WorkerProcess;
    readonly asks: Semaphore;
    readonly unblock: () => void;
  }> {
    const { port, directory } = server();
    const name = newName();
    const blockedUntil = join(directory, name);
    const times = { ttl: TTL, extendEvery: TTL / 3, maxStall: 60_000 };
    const args: HolderArguments = {
      port,
      kind: fixture.kind,
      name,
      blockedUntil,
      ...times,
      ...more,
    };
    holder = startHolderProgram(args);
    const { target } = await fixture.connect(port);
    const asks = fixture.semaphore(target, name, { limit: 1, ttl: 60_000 });
    return { holder, asks, unblock: () => writeFileSync(blockedUntil, '') };
  }

  async function doneOf(worker: WorkerProcess): Promise<HolderReport> {
    return (await worker.next('done')).data as HolderReport;
  }

  itThroughBothClients('is held for four times its life while another asks', async (fixture) => {
    const { holder: worker, asks, unblock } = await start(fixture, {});
    await worker.next('blocked');
    const passed = stopwatch();
    while (passed() < 4 * TTL) {
      expect(await asks.tryAcquire()).to.equal(null);
      await sleep(5);
    }
    unblock();
    expect(await doneOf(worker)).to.deep.include({ held: true, lost: [], released: true });
    expect(await asks.tryAcquire()).to.be.an('object');
  });

  itThroughBothClients('is given up where its loop does not come back', async (fixture) => {
    const { holder: worker, asks, unblock } = await start(fixture, { maxStall: 1500 });
    await worker.next('blocked');
    const next = await asks.acquire();
    unblock();
    expect(await doneOf(worker)).to.deep.include({ held: false, lost: ['expired'] });
    expect(next.held).to.equal(true);
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
});
