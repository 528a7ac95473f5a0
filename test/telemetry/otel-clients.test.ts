import { expect } from 'chai';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import type { RedisTarget, SemaphoreOptions } from '../../src/index.js';
import { AcquireTimeoutError, Semaphore } from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import type { TestServer } from '../support/redis-server.js';
import { describeWithServer } from '../support/require-server.js';
import { OtelBench } from './otel-bench.js';

interface Connection {
  readonly target: RedisTarget;
  close(): void;
}

/** Errors of a connection whose server was stopped are expected. */
function ignore(): void {}

async function throughNodeRedis(url: string): Promise<Connection> {
  const target = createClient({ url }).on('error', ignore);
  await target.connect();
  return { target, close: () => target.destroy() };
}

async function throughIoredis(url: string): Promise<Connection> {
  const target = new Redis(url, { lazyConnect: true }).on('error', ignore);
  await target.connect();
  return { target, close: () => target.disconnect() };
}

let names = 0;

function suite(
  client: string,
  connect: (url: string) => Promise<Connection>,
  server: () => TestServer,
): void {
  describe(`through ${client}`, () => {
    let connection: Connection;
    let name: string;
    let otel: OtelBench;
    let semaphores: Semaphore[];

    beforeEach(async () => {
      names += 1;
      name = `otel-${names}`;
      semaphores = [];
      connection = await connect(server().url);
      otel = new OtelBench(name);
    });

    afterEach(async () => {
      await Promise.all(semaphores.map((each) => each.close()));
      connection.close();
      await otel.close();
    });

    function semaphore(options: Partial<SemaphoreOptions> = {}): Semaphore {
      const made = new Semaphore(connection.target, name, { limit: 1, ...options });
      semaphores.push(made);
      return made;
    }

    const held = (): Promise<number> => otel.value('redsem.permit.count');

    it('tells of permits held, waited for and given back', async () => {
      const sem = semaphore({ limit: 2 });
      const pair = await sem.acquire({ permits: 2 });
      expect(await held()).to.equal(2);
      const waiting = sem.acquire();
      await eventually(async () => {
        expect(await otel.value('redsem.permit.waits')).to.equal(1);
      });
      expect(await otel.value('redsem.permit.pending_requests')).to.equal(1);
      await pair.release();
      const single = await waiting;
      expect(await held()).to.equal(1);
      expect(await otel.value('redsem.permit.pending_requests')).to.equal(0);
      await single.release();
      expect(await held()).to.equal(0);
      const { count, sum } = await otel.times('redsem.permit.wait_time');
      expect(count).to.equal(2);
      expect(sum).to.be.above(0).and.below(5);
      expect((await otel.times('redsem.permit.use_time')).count).to.equal(2);
      expect(otel.spans('redsem acquire')).to.have.length(2);
      expect(
        otel.spans('redsem hold').map((span) => span.attributes['redsem.slots']),
      ).to.deep.equal([[0, 1], single.slots]);
    });

    it('tells of requests that failed', async () => {
      const sem = semaphore();
      const handle = await sem.acquire();
      const error: unknown = await sem.acquire(0).catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(AcquireTimeoutError);
      expect(await sem.tryAcquire()).to.equal(null);
      await handle.release();
      const timeouts = { 'error.type': 'AcquireTimeoutError' };
      expect(await otel.value('redsem.permit.failed_requests', timeouts)).to.equal(1);
      expect(await otel.value('redsem.permit.refusals')).to.equal(1);
    });

    it('tells of a ticket that is gone, and of its holder that goes on', async () => {
      const handle = await semaphore().acquire();
      await server().command('ZREM', `redsem:{${name}}:tickets`, handle.id);
      await handle.extend().catch(() => undefined);
      const missing = { 'redsem.lost.reason': 'missing' };
      expect(await otel.value('redsem.permit.losses', missing)).to.equal(1);
      expect(await otel.value('redsem.permit.reclaims')).to.equal(1);
      expect(await held()).to.equal(0);
      expect(await otel.value('redsem.permit.overages')).to.equal(0);
      expect(await handle.release()).to.equal(false);
      expect(await otel.value('redsem.permit.overages')).to.equal(1);
      const { attributes } = otel.span('redsem hold');
      expect(attributes).to.have.property('redsem.lost.reason', 'missing');
    });

    it('tells of a revocation and of a hand-over', async () => {
      const [here, there] = [semaphore(), semaphore({ label: 'there' })];
      const adopted = await there.adopt((await here.acquire()).toJSON());
      expect(await held()).to.equal(1);
      await here.revoke(adopted.id);
      await eventually(() => expect(adopted.held).to.equal(false));
      expect(await held()).to.equal(0);
      for (const reason of ['missing', 'revoked']) {
        const lost = { 'redsem.lost.reason': reason };
        expect(await otel.value('redsem.permit.losses', lost), reason).to.equal(1);
      }
    });

    it('tells of extensions that failed, and of the loss that follows', async () => {
      const handle = await semaphore({ ttl: 3000 }).acquire();
      server().pause();
      try {
        await eventually(() => expect(handle.held).to.equal(false));
        await eventually(async () => {
          const expired = { 'redsem.lost.reason': 'expired' };
          expect(await otel.value('redsem.permit.losses', expired)).to.equal(1);
        });
      } finally {
        server().resume();
      }
      const { events, attributes } = otel.span('redsem hold');
      expect(attributes).to.have.property('error.type', 'expired');
      expect(events.length).to.be.above(0);
      expect(events[0]).to.have.property('name', 'redsem extension failed');
      const type = events[0]?.attributes?.['exception.type'];
      const failures = { 'error.type': type };
      expect(await otel.value('redsem.permit.extension_failures', failures)).to.be.above(0);
    });
  });
}

describeWithServer('OpenTelemetry with a server', (server) => {
  suite('node-redis', throughNodeRedis, server);
  suite('ioredis', throughIoredis, server);
});
