import { expect } from 'chai';

import { ioredisConnection } from '../../../../src/redis/adapters/ioredis.js';
import { nodeRedisConnection } from '../../../../src/redis/adapters/node-redis.js';
import { collected, FakeSubscriber, turn } from './fake-clients.js';

const scripts = {
  evalSha: () => Promise.resolve('by evalSha'),
  eval: () => Promise.resolve('by eval'),
};

/** As `createCluster` gives it; version 4 has no `destroy`. */
function nodeRedisCluster(version: 4 | 6) {
  const sent: unknown[][] = [];
  const asked: unknown[] = [];
  const subscribers: FakeSubscriber[] = [];
  const node = (name: string, isReady: boolean) => ({ name, client: { isReady } });
  const cluster = {
    ...scripts,
    masters: [node('down', false), node('up', true)],
    nodeClient: (asking: { name: string }) => {
      asked.push(asking.name);
      const duplicate = (): FakeSubscriber => {
        const subscriber = new FakeSubscriber();
        subscribers.push(subscriber);
        return subscriber;
      };
      return Promise.resolve({ duplicate });
    },
    sendCommand: (...call: unknown[]) => {
      sent.push(call);
      return Promise.resolve('by sendCommand');
    },
    duplicate: () => {
      throw new Error('a copy of the whole cluster');
    },
    subscribe: () => Promise.resolve(),
    ...(version === 6 && { destroy: () => {} }),
  };
  return { cluster, sent, asked, subscribers };
}

describe('node-redis cluster', () => {
  it('leaves the routing of scripts to the client', async () => {
    const { cluster, sent } = nodeRedisCluster(6);
    expect(await nodeRedisConnection(cluster).runBySha('sha', ['k'], ['a'])).to.equal('by evalSha');
    expect(await nodeRedisConnection(cluster).runByText('text', ['k'], [])).to.equal('by eval');
    expect(sent).to.deep.equal([]);
  });

  it('routes the scripts of version 4 by their first key, which that takes from elsewhere', async () => {
    const { cluster, sent } = nodeRedisCluster(4);
    const connection = nodeRedisConnection(cluster);
    expect(await connection.runBySha('sha', ['k1', 'k2'], ['a'])).to.equal('by sendCommand');
    expect(await connection.runByText('text', ['k1'], [])).to.equal('by sendCommand');
    expect(sent).to.deep.equal([
      ['k1', false, ['EVALSHA', 'sha', '2', 'k1', 'k2', 'a']],
      ['k1', false, ['EVAL', 'text', '1', 'k1']],
    ]);
  });

  it('subscribes on one connection to one node that is ready', async () => {
    const { cluster, asked, subscribers } = nodeRedisCluster(6);
    const { messages, health, events } = collected();
    const subscription = nodeRedisConnection(cluster).subscribe?.('p:inbox:c', events);
    await turn();
    expect(asked).to.deep.equal(['up']);
    expect(subscribers).to.have.length(1);
    const [subscriber] = subscribers;
    expect(subscriber?.channels).to.deep.equal(['p:inbox:c']);
    expect(health).to.deep.equal([true]);
    subscriber?.emit('ready');
    expect(subscriber?.unreferenced).to.equal(1);
    subscriber?.message('hello');
    expect(messages).to.deep.equal(['hello']);
    subscriber?.emit('error', new Error('Socket closed unexpectedly'));
    expect(health).to.deep.equal([true, false]);
    await turn();
    expect(subscriber?.ended).to.equal(1);
    await subscription?.close();
  });

  it('asks for no node that is down: the cluster client would try it for ever, even once it is closed', async () => {
    const { cluster, asked } = nodeRedisCluster(6);
    cluster.masters.pop();
    const { health, events } = collected();
    const subscription = nodeRedisConnection(cluster).subscribe?.('p:inbox:c', events);
    await turn();
    await subscription?.close();
    expect(asked).to.deep.equal([]);
    expect(health).to.deep.equal([false]);
  });

  it('opens nothing when it is closed while it connects', async () => {
    const { cluster, subscribers } = nodeRedisCluster(6);
    const { health, events } = collected();
    const subscription = nodeRedisConnection(cluster).subscribe?.('p:inbox:c', events);
    await subscription?.close();
    await turn();
    expect(subscribers.map(({ connected }) => connected)).to.deep.equal(subscribers.map(() => 0));
    expect(health).to.deep.equal([]);
  });
});

describe('ioredis cluster', () => {
  class Subscriber extends FakeSubscriber {
    readonly stream = { unref: (): void => void (this.unreferenced += 1) };
    status = 'ready';
    override disconnect(): never {
      this.ended += 1;
      setImmediate(() => this.emit('end'));
      return undefined as never;
    }
  }

  function cluster() {
    const subscribers: Subscriber[] = [];
    const options: unknown[] = [];
    const node = (status: string) => ({
      status,
      duplicate: (own: unknown) => {
        if (status !== 'ready') throw new Error('a node that is away');
        options.push(own);
        const subscriber = new Subscriber();
        subscribers.push(subscriber);
        return subscriber;
      },
    });
    const client = {
      evalsha: scripts.evalSha,
      eval: scripts.eval,
      status: 'ready',
      isCluster: true,
      nodes: (_role: string) => [node('reconnecting'), node('ready')],
      duplicate: () => {
        throw new Error('a copy of the whole cluster');
      },
      subscribe: () => Promise.resolve(),
    };
    return { client, subscribers, options };
  }

  it('subscribes on one connection to one node that is ready, and tells when it is lost', async () => {
    const { client, subscribers } = cluster();
    const { messages, health, events } = collected();
    const subscription = ioredisConnection(client).subscribe?.('p:inbox:c', events);
    await turn();
    const [subscriber] = subscribers;
    expect(subscriber?.channels).to.deep.equal(['p:inbox:c']);
    expect(health).to.deep.equal([true]);
    expect(subscriber?.unreferenced).to.be.at.least(1);
    subscriber?.emit('message', 'p:inbox:c', 'hello');
    expect(messages).to.deep.equal(['hello']);
    subscriber?.emit('end');
    expect(health).to.deep.equal([true, false]);
    await subscription?.close();
    expect(subscriber?.ended).to.equal(1);
  });

  it('leaves it to us to try another node', async () => {
    const { client, options } = cluster();
    const { events } = collected();
    await ioredisConnection(client).subscribe?.('p:inbox:c', events).close();
    const [own] = options as [{ retryStrategy(): unknown }];
    expect(own.retryStrategy()).to.equal(null);
  });

  it('waits for the cluster client to know a node', async () => {
    const { client } = cluster();
    const { health, events } = collected();
    const subscription = ioredisConnection({ ...client, nodes: () => [] } as typeof client);
    const opened = subscription.subscribe?.('p:inbox:c', events);
    await turn();
    expect(health).to.deep.equal([false]);
    await opened?.close();
  });
});
