import { once } from 'node:events';
import { expect } from 'chai';
import { Redis, type RedisOptions } from 'ioredis';
import { Redis as Redis6 } from 'ioredis-6';

import { Semaphore } from '../../src/index.js';
import { newName } from '../../test/support/client-fixture.js';
import { eventually } from '../../test/support/eventually.js';
import { type FaultProxy, startProxy } from '../../test/support/fault-proxy.js';
import { MASTER_NAME } from '../../test/support/redis-sentinel.js';
import { reasonOf } from '../../test/support/rejection.js';
import { describeWithSentinels } from '../../test/support/require-topology.js';
import { untilReplicated } from './topology-fixture.js';

type SentinelOptions = Pick<
  RedisOptions,
  'sentinels' | 'name' | 'updateSentinels' | 'failoverDetector'
>;

/** Both end for good then, with an error that says 'Connection is closed.'. */
describeWithSentinels('a client that hears of a new master while it asks for one', (sentinels) => {
  let asked: FaultProxy;
  let client: Redis | Redis6;

  beforeEach(async () => {
    asked = await startProxy(sentinels().addresses[0]?.port ?? 0);
  });

  afterEach(async () => {
    client.disconnect();
    await asked.stop();
    await sentinels().repair();
  });

  const makers: Record<string, (options: SentinelOptions) => Redis | Redis6> = {
    'ioredis 5': (options) => new Redis(options),
    'ioredis 6': (options) => new Redis6(options),
  };
  for (const [title, make] of Object.entries(makers)) {
    it(`is connected again, and permits are kept (${title})`, async () => {
      client = await connect(make);
      const semaphore = new Semaphore(client, newName(), { limit: 2, ttl: 20_000 });
      const handle = await semaphore.acquire(5000);
      await failOverWhileItAsks();
      // Not `once`, which rejects at the error that comes first.
      const ended = new Promise<void>((resolve) => void client.once('end', resolve));
      asked.hang(false);
      const [next] = await Promise.all([semaphore.acquire(15_000), ended]);
      expect(next.slot).to.equal(1);
      await handle.extend();
      expect(handle.held).to.equal(true);
      // Where its owner closes it, it stays closed.
      client.disconnect();
      expect(await reasonOf(semaphore.acquire(15_000))).to.have.property('code', 'BACKEND');
      expect(client.status).to.equal('end');
      await semaphore.close();
    });
  }

  async function connect(
    make: (options: SentinelOptions) => Redis | Redis6,
  ): Promise<Redis | Redis6> {
    const [, second] = sentinels().addresses;
    const made = make({
      sentinels: [{ host: '127.0.0.1', port: asked.port }, { ...second }],
      name: MASTER_NAME,
      updateSentinels: false,
      failoverDetector: true,
    });
    made.on('error', () => undefined);
    await once(made, 'failoverSubscribed');
    return made;
  }

  /** The sentinel that it asks says nothing, while another one tells it of the new master. */
  async function failOverWhileItAsks(): Promise<void> {
    const master = await sentinels().master();
    // What a master grants and does not replicate before it is deposed is lost, here as elsewhere.
    const replicas = sentinels().servers.filter((server) => server !== master);
    await untilReplicated(master, replicas);
    asked.hang(true);
    await master.command('CLIENT', 'KILL', 'TYPE', 'normal');
    await eventually(() => expect(client.status).to.equal('connecting'));
    await sentinels().failOver();
    const connector: unknown = Reflect.get(client, 'connector');
    await eventually(() => expect(connector).to.have.property('connecting', false));
  }
});
