import { Cluster, Redis } from 'ioredis';
import { createCluster, createSentinel } from 'redis';
import { setTimeout as sleep } from 'node:timers/promises';

import type { RedisTarget } from '../../../src/index.js';
import { quorum } from '../../../src/index.js';
import type { SingleTarget } from '../../../src/clients.js';
import { openClient } from '../../../test/support/open-client.js';
import { MASTER_NAME } from '../../support/redis-sentinel.js';
import type { Address, Connection } from './topology.js';

const CONNECT_TRIES = 100;
const CONNECT_PAUSE = 100;
/** Longer than any fault lasts. */
const CONNECT_LIMIT = 5000;

/** Connects, through faults that keep the first connection from being made. */
export async function connect(address: Address): Promise<Connection> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await openers[address.topology](address);
    } catch (error) {
      if (tries === CONNECT_TRIES) throw error;
      await sleep(CONNECT_PAUSE);
    }
  }
}

const openers: Record<Address['topology'], (address: Address) => Promise<Connection>> = {
  single: ({ client, ports: [port] }) => openClient(client, `redis://127.0.0.1:${port}`),
  cluster: (address) => (address.client === 'redis' ? nodeCluster(address) : ioCluster(address)),
  quorum: async ({ client, ports }) => {
    const clients = await Promise.all(
      ports.map((port) => openClient(client, `redis://127.0.0.1:${port}`)),
    );
    const close = async (): Promise<void> => {
      for (const each of clients) await each.close();
    };
    // Each worker reaches the nodes through its own proxies: their addresses are no names.
    const named = clients.map(({ target }, i) => [`node${i}`, single(target)] as const);
    return { target: quorum(Object.fromEntries(named)), close };
  },
  sentinel: (address) => (address.client === 'redis' ? nodeSentinel(address) : ioSentinel(address)),
};

/**
 * As both libraries want it: servers name addresses that this worker reaches through its own
 * proxies.
 */
function addressMap({ detours = {} }: Address): Record<string, { host: string; port: number }> {
  const host = '127.0.0.1';
  const map: Record<string, { host: string; port: number }> = {};
  for (const [named, port] of Object.entries(detours)) map[`${host}:${named}`] = { host, port };
  return map;
}

/**
 * Faults may keep a client from ever ending its first connect, as was seen with a cluster of
 * ioredis. A try that fails leaves nothing that keeps trying.
 */
async function established(connecting: Promise<unknown>, end: () => unknown): Promise<void> {
  const timer = new AbortController();
  const limit = sleep(CONNECT_LIMIT, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`no connection within ${CONNECT_LIMIT} ms`);
  });
  limit.catch(ignore);
  try {
    await Promise.race([connecting, limit]);
  } catch (error) {
    connecting.catch(ignore);
    await Promise.resolve().then(end).catch(ignore);
    throw error;
  } finally {
    timer.abort();
  }
}

async function nodeCluster(address: Address): Promise<Connection> {
  const rootNodes = address.ports.map((port) => ({ url: `redis://127.0.0.1:${port}` }));
  // With the options that docs/operations/topologies.md names for masters that may fail, here and
  // below.
  const refresh = { topologyRefreshOnReconnectionAttemptStrategy: 500 };
  const client = createCluster({ rootNodes, nodeAddressMap: addressMap(address), ...refresh });
  client.on('error', ignore);
  await established(client.connect(), () => client.destroy());
  return { target: client, close: () => Promise.resolve(client.destroy()) };
}

async function ioCluster(address: Address): Promise<Connection> {
  const nodes = address.ports.map((port) => ({ host: '127.0.0.1', port }));
  const natMap = addressMap(address);
  const client = new Cluster(nodes, { lazyConnect: true, slotsRefreshInterval: 1000, natMap });
  client.on('error', ignore);
  await established(client.connect(), () => client.disconnect());
  return { target: client, close: () => Promise.resolve(client.disconnect()) };
}

async function nodeSentinel(address: Address): Promise<Connection> {
  const sentinelRootNodes = address.ports.map((port) => ({ host: '127.0.0.1', port }));
  const nodeAddressMap = addressMap(address);
  const client = createSentinel({ name: MASTER_NAME, sentinelRootNodes, nodeAddressMap });
  client.on('error', ignore);
  await established(client.connect(), () => client.destroy());
  return { target: client, close: () => client.destroy() };
}

async function ioSentinel(address: Address): Promise<Connection> {
  const sentinels = address.ports.map((port) => ({ host: '127.0.0.1', port }));
  const natMap = addressMap(address);
  const options = { sentinels, natMap, name: MASTER_NAME, lazyConnect: true };
  const client = new Redis({ ...options, failoverDetector: true });
  client.on('error', ignore);
  await established(client.connect(), () => client.disconnect());
  // Notified of a failover while it reconnects, it takes that for its end: an application connects
  // again.
  const reconnect = (): void => void client.connect().catch(ignore);
  client.on('end', reconnect);
  const close = (): Promise<void> => {
    client.off('end', reconnect).disconnect();
    return Promise.resolve();
  };
  return { target: client, close };
}

function single(target: RedisTarget): SingleTarget {
  if (!isSingle(target)) throw new TypeError('expected one client');
  return target;
}

function isSingle(target: RedisTarget): target is SingleTarget {
  return !Array.isArray(target);
}

/** Servers come and go here: only what a semaphore makes of it is looked at. */
function ignore(): void {}
