import { Cluster, Redis } from 'ioredis';
import { createCluster, createSentinel } from 'redis';

import type { Backend, Handle, RedisTarget, SemaphoreOptions } from '../../src/index.js';
import { Semaphore } from '../../src/index.js';
import { type ClientKind, clientKinds, type Login } from '../../test/support/client-bench.js';
import type { TestCluster } from '../../test/support/redis-cluster.js';
import { MASTER_NAME, type TestSentinels } from '../../test/support/redis-sentinel.js';
import { LossWatch } from './outage.js';

export interface Connected {
  readonly target: RedisTarget;
  destroy(): unknown;
}

export type Connect = (kind: ClientKind) => Promise<Connected>;

/** Clients of one kind and semaphores on them, all closed at the end of the test. */
export class TopologyBench {
  readonly kind: ClientKind;
  readonly #connect: Connect;
  readonly #clients: Connected[] = [];
  readonly #semaphores: Semaphore[] = [];

  constructor(kind: ClientKind, connect: Connect) {
    this.kind = kind;
    this.#connect = connect;
  }

  async client(connect: Connect = this.#connect): Promise<RedisTarget> {
    const client = await connect(this.kind);
    this.#clients.push(client);
    return client.target;
  }

  semaphore(target: RedisTarget | Backend, name: string, options: SemaphoreOptions): Semaphore {
    const semaphore = new Semaphore(target, name, options);
    this.#semaphores.push(semaphore);
    return semaphore;
  }

  watch(handle: Handle): LossWatch {
    return new LossWatch(handle);
  }

  async close(): Promise<void> {
    await Promise.all(this.#semaphores.map((semaphore) => semaphore.close()));
    for (const client of this.#clients) await client.destroy();
  }
}

/** The same at the same time through each library: what takes long, takes it once. */
export async function throughBothClients(
  connect: Connect,
  body: (bench: TopologyBench) => Promise<void>,
): Promise<void> {
  const benches = clientKinds.map((kind) => new TopologyBench(kind, connect));
  try {
    const ends = await Promise.allSettled(benches.map(body));
    for (const [i, end] of ends.entries()) {
      if (end.status === 'rejected') throw named(end.reason, benches[i]?.kind ?? '');
    }
  } finally {
    await Promise.all(benches.map((bench) => bench.close()));
  }
}

function named(reason: unknown, kind: string): unknown {
  if (reason instanceof Error) reason.message = `${kind}: ${reason.message}`;
  return reason;
}

/** With the options that the README names for a cluster whose masters may fail. */
export function clusterClient(cluster: () => TestCluster, login?: Login): Connect {
  return async (kind) => {
    const { addresses } = cluster();
    if (kind === 'node-redis') {
      const rootNodes = addresses.map(({ port }) => ({ url: `redis://127.0.0.1:${port}` }));
      const refresh = { topologyRefreshOnReconnectionAttemptStrategy: 500 };
      const client = createCluster({ rootNodes, ...refresh, defaults: { ...login } }).on(
        'error',
        ignore,
      );
      await client.connect();
      return { target: client, destroy: () => client.destroy() };
    }
    // The ready check of a node wants INFO, and says so aloud when the user may not.
    const redisOptions = login === undefined ? {} : { ...login, enableReadyCheck: false };
    const options = { lazyConnect: true, slotsRefreshInterval: 1000, redisOptions };
    const client = new Cluster(addresses, options);
    client.on('error', ignore);
    await client.connect();
    return { target: client, destroy: () => client.disconnect() };
  };
}

/** With the option that the README names for a master that may hang. */
export function sentinelClient(sentinels: () => TestSentinels): Connect {
  return async (kind) => {
    const { addresses } = sentinels();
    if (kind === 'node-redis') {
      const client = createSentinel({ name: MASTER_NAME, sentinelRootNodes: addresses });
      client.on('error', ignore);
      await client.connect();
      return { target: client, destroy: () => client.destroy() };
    }
    const options = { sentinels: addresses, name: MASTER_NAME, lazyConnect: true };
    const client = new Redis({ ...options, failoverDetector: true }).on('error', ignore);
    await client.connect();
    return { target: client, destroy: () => client.disconnect() };
  };
}

/** Nodes come and go here: only what a semaphore makes of it is looked at. */
function ignore(): void {}
