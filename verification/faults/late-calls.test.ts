import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';

import { AcquireTimeoutError } from '../../src/index.js';
import { describeWithServer } from '../../test/support/require-server.js';
import {
  type ClientBench,
  itThroughBothClients,
  newName,
} from '../../test/support/client-bench.js';
import { type FaultyConnection, Gate } from '../../test/support/faulty-connection.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { expectUsable } from './usable.js';
import { eventually } from '../../test/support/eventually.js';
import { reasonOf } from '../../test/support/rejection.js';

describeWithServer('a call that runs late, as through a pool', (server) => {
  for (const bracketed of [true, false]) {
    const known = bracketed ? "the server's clock known" : "the server's clock not yet known";

    itThroughBothClients(`leaves no ticket when it was given up, ${known}`, async (bench) => {
      const { connection, semaphore, stored } = await prepare(bench, bracketed);
      const late = holdBack(connection);
      expect(await reasonOf(semaphore.acquire(60))).to.be.instanceOf(AcquireTimeoutError);
      await withdrawn(connection);
      late.gate.open();
      await late.over;
      await stored.expectEmpty();
      await expectUsable(semaphore, stored);
    });

    itThroughBothClients(`leaves no queued request when given up, ${known}`, async (bench) => {
      const { connection, semaphore, stored, holder } = await prepare(bench, bracketed);
      const first = await holder.acquire();
      const late = holdBack(connection);
      expect(await reasonOf(semaphore.acquire(60))).to.be.instanceOf(AcquireTimeoutError);
      await withdrawn(connection);
      late.gate.open();
      await late.over;
      await eventually(async () => expect(await stored.queue()).to.deep.equal([]));
      expect(await first.release()).to.equal(true);
      // Well before a claim time is over: nobody was granted the permit meanwhile.
      await stored.expectEmpty();
      await expectUsable(semaphore, stored);
    });

    itThroughBothClients(`leaves nothing when it was aborted, ${known}`, async (bench) => {
      for (const busy of [false, true]) {
        const { connection, semaphore, stored, holder } = await prepare(bench, bracketed);
        const first = busy ? await holder.acquire() : undefined;
        const late = holdBack(connection);
        const abort = new AbortController();
        const acquiring = reasonOf(semaphore.acquire({ timeout: 60_000, signal: abort.signal }));
        await eventually(() => expect(connection.of('acquire').length).to.be.above(0));
        await sleep(10);
        abort.abort(new Error('no longer wanted'));
        expect(await acquiring).to.have.property('message', 'no longer wanted');
        await withdrawn(connection);
        late.gate.open();
        await late.over;
        await eventually(async () => expect(await stored.queue()).to.deep.equal([]));
        await first?.release();
        await stored.expectEmpty();
      }
    });
  }

  itThroughBothClients('does nothing after its time, though nobody hears it', async (bench) => {
    for (const busy of [false, true]) {
      const { connection, semaphore, stored, holder } = await prepare(bench, true);
      const first = busy ? await holder.acquire() : undefined;
      const late = holdBack(connection, 'unheard');
      expect(await reasonOf(semaphore.acquire(60))).to.be.instanceOf(AcquireTimeoutError);
      await withdrawn(connection);
      // Longer than a call can take by which the client saw the server's clock: no more does it not know of it.
      await sleep(1000);
      late.gate.open();
      await late.over;
      expect(await stored.queue()).to.deep.equal([]);
      expect(await stored.tickets()).to.have.length(busy ? 1 : 0);
      await first?.release();
    }
  });

  itThroughBothClients('changes nothing when it is run twice', async (bench) => {
    const { connection, semaphore, stored, holder } = await prepare(bench, true);
    const replies: string[][] = [];
    connection.fault = async ({ operation, run }) => {
      const [one, two] = [String(await run()), String(await run())];
      if (operation !== 'release') replies.push([withoutTime(one), withoutTime(two)]);
      return two;
    };
    const handle = await semaphore.acquire(1000);
    expect(await semaphore.tryAcquire()).to.equal(null);
    expect(await reasonOf(semaphore.acquire(500))).to.be.instanceOf(AcquireTimeoutError);
    await handle.extend();
    await stored.expectHeldBy([handle]);
    expect(replies.length).to.be.at.least(4);
    // The ticket, the slot, the token, the place in the queue: all as the first time.
    for (const [one, two] of replies) expect(two).to.equal(one);
    const waiting = holder.acquire(5000);
    await eventually(async () => expect(await stored.queue()).to.have.length(1));
    // Its second run finds nothing: it cannot tell that the first one did.
    expect(await handle.release()).to.be.a('boolean');
    const next = await waiting;
    await stored.expectHeldBy([next]);
    expect(await next.release()).to.equal(true);
    await stored.expectEmpty();
  });

  itThroughBothClients('takes nothing back when a push overtook its reply', async (bench) => {
    const { connection, semaphore, stored, holder } = await prepare(bench, true);
    const first = await holder.acquire();
    const gate = new Gate();
    const waiting = semaphore.acquire(10_000);
    let tries = 0;
    connection.fault = ({ operation, run }) => {
      if (operation !== 'acquire') return undefined;
      tries += 1;
      // It says 'queued'; by the time that it arrives the permit has been pushed.
      return tries === 1 ? undefined : run().then((reply) => gate.opened.then(() => reply));
    };
    await eventually(() => expect(tries).to.be.at.least(2));
    await stored.expectListening();
    await sleep(30);
    expect(await first.release()).to.equal(true);
    const handle = await waiting;
    gate.open();
    await connection.idle();
    await sleep(50);
    await stored.expectHeldBy([handle]);
    expect(handle.held).to.equal(true);
    await handle.extend();
    connection.fault = undefined;
    expect(await handle.release()).to.equal(true);
    await stored.expectEmpty();
  });

  itThroughBothClients('gives nobody a permit whose handle was released', async (bench) => {
    const { connection, semaphore, stored } = await prepare(bench, true);
    const gate = new Gate();
    let first = true;
    connection.fault = ({ operation, run }) => {
      if (operation !== 'acquire' || !first) return undefined;
      first = false;
      // Once it fails, and is then run after all, when its repetition has long been served and given back.
      void gate.opened.then(run).catch(() => undefined);
      return Promise.reject(new Error('read ECONNRESET'));
    };
    const handle = await semaphore.acquire(1500);
    expect(await handle.release()).to.equal(true);
    await sleep(2500);
    gate.open();
    await sleep(50);
    await stored.expectEmpty();
    await expectUsable(semaphore, stored);
  });

  itThroughBothClients('revives no ticket by an extension', async (bench) => {
    const { connection, semaphore, stored } = await prepare(bench, true);
    const handle = await semaphore.acquire(1000);
    const gate = new Gate();
    connection.fault = ({ operation, run }) =>
      operation === 'extend' ? gate.opened.then(run) : undefined;
    let losses = 0;
    handle.on('lost', () => (losses += 1));
    const extending = reasonOf(handle.extend());
    await eventually(() => expect(connection.of('extend')).to.have.length(1));
    expect(await handle.release()).to.equal(true);
    gate.open();
    expect(await extending).to.have.property('code', 'HANDLE_LOST');
    await connection.idle();
    expect(await stored.tickets()).to.deep.equal([]);
    expect(losses).to.equal(0);
    connection.fault = undefined;
    await expectUsable(semaphore, stored);
  });

  /** Holds the first acquire back until the gate opens; `unheard`: and then tells nobody how it went. */
  function holdBack(connection: FaultyConnection, reply: 'heard' | 'unheard' = 'heard') {
    const gate = new Gate();
    let over: Promise<unknown> = Promise.reject(new Error('there was no acquire'));
    over.catch(() => undefined);
    let first = true;
    connection.fault = ({ operation, run }) => {
      if (operation !== 'acquire' || !first) return undefined;
      first = false;
      over = gate.opened.then(run);
      return reply === 'heard' ? over : new Promise(() => undefined);
    };
    return {
      gate,
      get over() {
        return over;
      },
    };
  }

  /** The withdrawal of what was given up has run at the server. */
  async function withdrawn(connection: FaultyConnection): Promise<void> {
    await eventually(() => expect(connection.of('release').length).to.be.above(0));
    await sleep(30);
  }

  async function prepare(bench: ClientBench, bracketed: boolean) {
    const name = newName();
    const connection = await bench.connectFaulty(server().port);
    const semaphore = bench.semaphore(connection, name, { limit: 1, ttl: 60_000 });
    const holder = bench.semaphore((await bench.connect(server().port)).target, name, { limit: 1 });
    // The first reply tells what the server's clock says. The scripts are loaded through another client.
    await (await (bracketed ? semaphore : holder).acquire(1000)).release();
    connection.calls.length = 0;
    return { connection, semaphore, holder, stored: new StoredSemaphore(server(), name) };
  }
});

function withoutTime(reply: string): string {
  const rest = reply.slice(reply.indexOf('|')).replace(/^\|\d+\|/, '|nearest|');
  // The first of one that was granted, or that one: the same.
  return rest.replace('||n', '||');
}
