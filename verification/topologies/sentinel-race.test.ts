import { once } from 'node:events';
import { expect } from 'chai';
import { Redis, type RedisOptions } from 'ioredis';
import { Redis as Redis6 } from 'ioredis-6';

import { Semaphore } from '../../src/index.js';
import { newName } from '../../test/support/client-bench.js';
import { type FaultProxy, startProxy } from '../../test/support/fault-proxy.js';
import { MASTER_NAME } from '../../test/support/redis-sentinel.js';
import { describeWithSentinels } from '../../test/support/require-topology.js';
import { untilReplicated } from './replicated.js';
import { eventually } from '../../test/support/eventually.js';
import { reasonOf } from '../../test/support/rejection.js';

type Client = Redis | Redis6;
type SentinelOptions = Pick<
  RedisOptions,
  'sentinels' | 'name' | 'updateSentinels' | 'failoverDetector'
>;

const makers: readonly [string, (options: SentinelOptions) => Client][] = [
  ['ioredis 5', (options) => new Redis(options)],
  ['ioredis 6', (options) => new Redis6(options)],
];

/** Both end for good then, with an error that says 'Connection is closed.'. */
describeWithSentinels('a client that hears of a new master while it asks for one', (sentinels) => {
  let asked: FaultProxy;
  let client: Client;

  beforeEach(async () => {
    const [first] = sentinels().addresses;
    asked = await startProxy(first?.port ?? 0);
  });

  afterEach(async () => {
    client.disconnect();
    await asked.stop();
    await sentinels().repair();
  });

  for (const [title, make] of makers) {
    it(`is connected again, and permits are kept (${title})`, async () => {
      client = await connect(make);
      const semaphore = new Semaphore(client, newName(), { limit: 2, ttl: 20_000 });
      const handle = await semaphore.acquire(5000);
      await failOverWhileItAsks();
      const [next] = await Promise.all([semaphore.acquire(15_000), endsOnce()]);
      expect(next.slot).to.equal(1);
      await handle.extend();
      expect(handle.held).to.equal(true);
      await semaphore.close();
    });

    it(`stays closed where its owner has closed it meanwhile (${title})`, async () => {
      client = await connect(make);
      const semaphore = new Semaphore(client, newName(), { limit: 2, ttl: 20_000 });
      await semaphore.inspect();
      await failOverWhileItAsks();
      client.disconnect();
      await endsOnce();
      const error = await reasonOf(semaphore.acquire(15_000));
      expect(error).to.have.property('code', 'BACKEND');
      expect(client.status).to.equal('end');
      await semaphore.close();
    });
  }

  async function connect(make: (options: SentinelOptions) => Client): Promise<Client> {
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

  async function endsOnce(): Promise<void> {
    const ended = new Promise<void>((resolve) => void client.once('end', () => resolve()));
    asked.hang(false);
    await ended;
  }
});
