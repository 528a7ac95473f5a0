import { expect } from 'chai';

import type { Handle } from '../../src/index.js';
import {
  AcquireTimeoutError,
  BackendError,
  HandleLostError,
  QuorumError,
  Semaphore,
} from '../../src/index.js';
import { eventually } from '../../test/support/eventually.js';
import { errorOf } from '../../test/support/rejection.js';
import type { TestServer } from '../../test/support/redis-server.js';
import { describeWithMasters, type Masters } from '../../test/quorum/servers.js';
import { LATE_MS, timed } from '../support/timed.js';

let names = 0;

function freshName(): string {
  names += 1;
  return `fault-${names}`;
}

/** Slots that are held on one master. */
async function slotsOn(server: TestServer | undefined, name: string): Promise<number> {
  return Number(await server?.command('ZCARD', `redsem:{${name}}:qslots`));
}

async function lastTokenOn(server: TestServer | undefined, name: string): Promise<number> {
  return Number(await server?.command('HGET', `redsem:{${name}}:qmeta`, 'last'));
}

for (const kind of ['redis', 'ioredis'] as const) {
  describeWithMasters(`three independent masters over clients of ${kind}`, 3, (masters) => {
    afterEach(async () => {
      for (const server of masters().servers) server.resume();
      await Promise.all(masters().servers.map((server) => untilUp(server)));
    });

    it('do not wait for one that hangs', async () => {
      const semaphore = await open(masters(), kind, { limit: 1 });
      await (await semaphore.acquire(2000)).release();
      masters().servers[1]?.pause();
      for (let round = 0; round < 5; round += 1) {
        const { took } = await timed(async () => {
          const handle = await semaphore.acquire(2000);
          await handle.extend();
          expect(await handle.release()).to.equal(true);
        });
        // One node is waited for a second at most, and not at all where the others decide.
        expect(took).to.be.below(700 + LATE_MS);
      }
      await semaphore.close();
    });

    it('give what was tried for while most hung back as soon as they answer', async () => {
      const name = freshName();
      const semaphore = await open(masters(), kind, { limit: 1, ttl: 30_000 }, name);
      const [, ...hung] = masters().servers;
      for (const server of hung) server.pause();
      const acquiring = (): Promise<AcquireTimeoutError> =>
        errorOf(semaphore.acquire(300), AcquireTimeoutError);
      const { value: error, took } = await timed(acquiring);
      expect(took).to.be.within(299, 350 + LATE_MS);
      expect(error.cause).to.be.an('error');
      const refused = await errorOf(semaphore.tryAcquire(), BackendError);
      expect(refused.cause).to.be.instanceOf(QuorumError);
      for (const server of hung) server.resume();
      await eventually(async () => {
        // The tries did run there, late: a token was given.
        for (const server of hung) expect(await lastTokenOn(server, name)).to.be.above(0);
        for (const server of hung) expect(await slotsOn(server, name)).to.equal(0);
        expect(await slotsOn(masters().servers[0], name)).to.equal(0);
      });
      expect(await semaphore.tryAcquire()).to.include({ held: true });
      await semaphore.close();
    });

    it('tell why, node by node, when most are down', async () => {
      const semaphore = await open(masters(), kind, { limit: 1, ttl: 5000 });
      await (await semaphore.acquire(2000)).release();
      const [, ...down] = masters().servers;
      await Promise.all(down.map((server) => server.kill()));
      const error = await errorOf(semaphore.acquire(1500), AcquireTimeoutError);
      if (!(error.cause instanceof QuorumError)) throw error;
      const known = error.cause.reasons.map((reason) => reason instanceof Error);
      expect(known).to.deep.equal([false, true, true]);
      expect(error.cause.message).to.include('1 of 3 nodes answered').and.to.include('node 2: ');
      const waiting = semaphore.acquire(10_000);
      await Promise.all(down.map((server) => server.restart()));
      expect(await waiting).to.include({ held: true });
      await semaphore.close();
    });

    it('put a ticket back on one that was restarted empty, and can then do without another', async () => {
      const name = freshName();
      const semaphore = await open(masters(), kind, { limit: 2, ttl: 3000 }, name);
      const [first, second] = masters().servers;
      const handle = await semaphore.acquire(2000);
      await first?.restart();
      await eventually(async () => {
        await handle.extend();
        expect(await slotsOn(first, name)).to.equal(1);
      });
      await second?.kill();
      await handle.extend();
      const { holders } = await semaphore.inspect();
      const { id, slots, fencingToken } = handle;
      expect(holders).to.have.lengthOf(1);
      expect(holders[0]).to.deep.include({ id, slots, fencingToken });
      await second?.restart();
      expect(await handle.release()).to.equal(true);
      await semaphore.close();
    });

    it('lose a ticket when all lost their data, and give higher tokens then', async () => {
      const semaphore = await open(masters(), kind, { limit: 1, ttl: 5000 });
      const handle = await semaphore.acquire(2000);
      for (const server of masters().servers) await server.command('FLUSHALL');
      const lost = new Promise<HandleLostError>((resolve) => handle.on('lost', resolve));
      await eventually(async () => {
        await handle.extend().catch(() => undefined);
        expect(handle.held).to.equal(false);
      });
      expect(await lost)
        .to.be.instanceOf(HandleLostError)
        .and.to.include({ reason: 'missing' });
      const next = await semaphore.acquire(6000);
      expect(next.fencingToken).to.be.above(handle.fencingToken);
      await semaphore.close();
    });

    it('are no use, at once, when most refuse for good', async () => {
      const name = freshName();
      const semaphore = await open(masters(), kind, { limit: 1 }, name);
      const key = `redsem:{${name}}:qslots`;
      const [first, ...others] = masters().servers;
      await first?.command('SET', key, 'not a sorted set');
      expect(await (await semaphore.acquire(0)).release()).to.equal(true);
      for (const server of others) await server.command('SET', key, 'not a sorted set');
      const error = await errorOf(semaphore.acquire(20_000), BackendError);
      expect(error.cause).to.be.instanceOf(QuorumError);
      expect(error.message).to.include('WRONGTYPE');
      for (const server of masters().servers) await server.command('DEL', key);
      await semaphore.close();
    });

    it('hold nothing but a small hash with an expiry afterwards', async () => {
      const name = freshName();
      const semaphore = await open(masters(), kind, { limit: 3, ttl: 2000 }, name);
      const handle = await semaphore.acquire({ permits: 2, timeout: 1000 });
      const keys = [`redsem:{${name}}:qslots`, `redsem:{${name}}:qmeta`];
      for (const server of masters().servers) {
        await eventually(async () => {
          const lives = await Promise.all(keys.map((key) => server.command('PTTL', key)));
          expect(Number(lives[0])).to.be.within(2000, 3100);
          expect(Number(lives[1])).to.be.within(86_400_000, 86_404_000);
        });
      }
      await handle.release();
      for (const server of masters().servers) {
        await eventually(async () => {
          expect(await server.command('KEYS', `*{${name}}*`)).to.deep.equal([keys[1]]);
          expect(Number(await server.command('PTTL', keys[1] ?? ''))).to.be.within(1, 86_400_000);
        });
      }
      await semaphore.close();
    });
  });
}

describeWithMasters(
  'masters whose clocks are 30 s apart',
  3,
  (masters) => {
    before(async () => {
      await masters().servers[0]?.shiftClock(30_000);
      await masters().servers[2]?.shiftClock(-30_000);
    });

    it('give rising tokens whichever of them is down, and tickets that live for their ttl', async () => {
      const name = freshName();
      let last = 0;
      for (let round = 0; round < 3; round += 1) {
        const hung = masters().servers[round % 3];
        const semaphore = await open(
          masters(),
          round % 2 === 0 ? 'redis' : 'ioredis',
          { limit: 1 },
          name,
        );
        hung?.pause();
        const handle: Handle = await semaphore.acquire(5000);
        expect(handle.fencingToken).to.be.above(last);
        last = handle.fencingToken;
        const [holder] = (await semaphore.inspect()).holders;
        expect(holder?.expiresIn).to.be.within(25_000, 30_000);
        expect(await handle.release()).to.equal(true);
        hung?.resume();
        await semaphore.close();
      }
    });

    it('keep a ticket when one clock is stepped past its expiry', async () => {
      const name = freshName();
      const semaphore = await open(
        masters(),
        'redis',
        { limit: 1, ttl: 5000, extendEvery: 0 },
        name,
      );
      const rival = await open(masters(), 'ioredis', { limit: 1, ttl: 5000 }, name);
      const handle = await semaphore.acquire(2000);
      await rival.tryAcquire();
      await masters().servers[1]?.shiftClock(30_000);
      for (let round = 0; round < 5; round += 1) expect(await rival.tryAcquire()).to.equal(null);
      await eventually(async () => {
        await handle.extend();
        expect(await slotsOn(masters().servers[1], name)).to.equal(1);
      });
      expect(handle.held).to.equal(true);
      const [holder] = (await rival.inspect()).holders;
      expect(holder).to.deep.include({ id: handle.id, slots: [0] });
      await semaphore.close();
      expect(await rival.acquire(2000)).to.include({ held: true });
      await rival.close();
    });
  },
  { fakeClock: true },
);

async function open(
  masters: Masters,
  kind: 'redis' | 'ioredis',
  options: { limit: number; ttl?: number; extendEvery?: number },
  name: string = freshName(),
): Promise<Semaphore> {
  return new Semaphore(await masters.connect(kind), name, options);
}

async function untilUp(server: TestServer): Promise<void> {
  const pong = await server.command('PING').catch(() => undefined);
  if (pong === undefined) await server.restart();
}
