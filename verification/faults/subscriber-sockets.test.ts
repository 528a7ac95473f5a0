import { expect } from 'chai';
import { setImmediate as turn } from 'node:timers/promises';
import { createClient as createClient4 } from 'redis-4';

import { Semaphore } from '../../src/index.js';
import { nodeRedisConnection } from '../../src/backends/redis/adapters/node-redis.js';
import type { Row } from '../../test/conformance/row.js';
import { serverRows } from '../../test/conformance/rows/server-rows.js';
import { newName } from '../../test/support/client-fixture.js';
import { eventually } from '../../test/support/eventually.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { describeWithCluster, describeWithSentinels } from '../support/require-topology.js';
import { clusterRows, sentinelRows } from '../conformance/topology-rows.js';

interface CommandRunner {
  command(...args: string[]): Promise<unknown>;
}

/**
 * The connections of clients, by CLIENT LIST: without this command's own, replicas and sentinels.
 */
class Connections {
  readonly #servers: () => readonly CommandRunner[];

  constructor(servers: () => readonly CommandRunner[]) {
    this.#servers = servers;
  }

  async all(): Promise<string[]> {
    const lists = await Promise.all(this.#servers().map((each) => each.command('CLIENT', 'LIST')));
    return lists
      .flatMap((list) => String(list).split('\n'))
      .filter((line) => line !== '' && !/cmd=client\|list|flags=[SM]|name=sentinel-/.test(line));
  }

  async subscribers(): Promise<string[]> {
    return (await this.all()).filter((line) => / sub=[1-9]/.test(line));
  }

  async untilOneSubscriber(): Promise<void> {
    await eventually(async () => expect(await this.subscribers()).to.have.length(1));
  }

  async cutSubscribers(): Promise<void> {
    for (const line of await this.subscribers()) {
      const address = /addr=(\S+)/.exec(line)?.[1] ?? '';
      // A connection may have ended already.
      const kill = (each: CommandRunner) => each.command('CLIENT', 'KILL', 'ADDR', address);
      await Promise.allSettled(this.#servers().map(kill));
    }
  }
}

/** The faults of a subscriber of a semaphore with a waiter, until `giveUp`. */
type Moment = (
  semaphore: Semaphore,
  connections: Connections,
  round: number,
  giveUp: () => void,
) => Promise<void>;

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await turn();
}

/**
 * Some are closed a little later in each round: before the socket is made, while it is, in the
 * handshake, while it subscribes.
 */
const moments: Record<string, Moment> = {
  'that is closed while it connects': async (semaphore, _connections, round) => {
    await turns(5 * round);
    await semaphore.close();
  },
  'that breaks after the last waiter has left': async (_semaphore, connections, _round, giveUp) => {
    await connections.untilOneSubscriber();
    giveUp();
    await turn();
    await connections.cutSubscribers();
  },
  'that breaks, and is closed while it reconnects': async (semaphore, connections, round) => {
    await connections.untilOneSubscriber();
    await connections.cutSubscribers();
    await turns(5 * round);
    await semaphore.close();
  },
  // Another takes its place after a pause, which is too slow to be repeated in every round.
  'that breaks while a request waits': async (semaphore, connections, round) => {
    for (let cut = 0; cut < (round === 0 ? 2 : 0); cut += 1) {
      await connections.untilOneSubscriber();
      await connections.cutSubscribers();
    }
    await connections.untilOneSubscriber();
    await semaphore.close();
  },
};

const options = { limit: 1, ttl: 30_000 };

async function leavesNothing(row: Row, connections: Connections, moment: Moment, rounds: number) {
  const place = await row.open();
  const name = newName();
  const other = new Semaphore(place.other, name, options);
  try {
    await other.acquire();
    for (let round = 0; round < rounds; round += 1) {
      const semaphore = new Semaphore(place.target, name, options);
      const controller = new AbortController();
      const { signal } = controller;
      const waiting = semaphore.acquire({ signal }).catch(() => undefined);
      await moment(semaphore, connections, round, () => controller.abort());
      await waiting;
    }
    await new Semaphore(place.target, name, options).close();
    await eventually(async () => expect(await connections.subscribers()).to.deep.equal([]));
  } finally {
    await other.close();
    await place.close();
  }
  await eventually(async () => expect(await connections.all()).to.deep.equal([]));
}

/** The owner has closed the client while it was in use. */
async function leavesNothingBehindItsClient(row: Row, connections: Connections) {
  const place = await row.open();
  const name = newName();
  const semaphore = new Semaphore(place.target, name, options);
  const other = new Semaphore(place.other, name, options);
  await other.acquire();
  const waiting = semaphore.acquire().catch(() => undefined);
  await connections.untilOneSubscriber();
  await place.close();
  await Promise.all([semaphore.close(), other.close(), waiting]);
  await eventually(async () => expect(await connections.all()).to.deep.equal([]));
}

function itLeavesNothing(rows: readonly Row[], servers: () => readonly CommandRunner[], n: number) {
  const connections = new Connections(servers);
  for (const row of rows) {
    for (const [which, moment] of Object.entries(moments)) {
      it(`of ${row.title} ${which}, times ${n}`, () => leavesNothing(row, connections, moment, n));
    }
    it(`of ${row.title} whose client is closed first`, () =>
      leavesNothingBehindItsClient(row, connections));
  }
}

describeWithServer('no socket is left of a subscriber', (server) => {
  const rows = serverRows(server);
  const plain = rows.filter(({ title }) => !/Pool|keyPrefix|RESP 2|methods/.test(title));
  itLeavesNothing(plain, () => [server()], 100);

  it('of redis 4 that a reply closes; the rest of the packet ends nothing else', async () => {
    const client = createClient4({ url: server().url }).on('error', () => {});
    await client.connect();
    const push = "redis.call('PUBLISH', KEYS[1], 'one') redis.call('PUBLISH', KEYS[1], 'two')";
    const read: string[] = [];
    await new Promise<void>((resolve) => {
      const subscription = nodeRedisConnection(client).subscribe?.('inbox', {
        onMessage: (message) => {
          if (read.push(message) === 1) void subscription?.close().then(resolve);
        },
        onHealth: (healthy) => {
          if (healthy) void server().command('EVAL', push, '1', 'inbox');
        },
        onFailed: () => {},
      });
    });
    expect(read[0]).to.equal('one');
    await client.disconnect();
  });
});

describeWithCluster('no socket is left of a subscriber on a cluster', (cluster) => {
  const { all, others } = clusterRows(cluster);
  itLeavesNothing([...all, ...others], () => cluster().nodes, 25);
});

describeWithSentinels('no socket is left of a subscriber with sentinels', (sentinels) => {
  itLeavesNothing(sentinelRows(sentinels), () => sentinels().servers, 25);
});
