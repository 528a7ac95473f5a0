import { setTimeout as sleep } from 'node:timers/promises';

import type { SingleTarget } from '../../../src/clients.js';
import { type Backend, quorum, type RedisTarget } from '../../../src/index.js';
import { openClient } from '../../../test/support/open-client.js';
import {
  clusterClient,
  sentinelClient,
  type TopologyClient,
  type Way,
} from '../../support/topology-clients.js';

const CONNECT_TRIES = 100;
const CONNECT_PAUSE = 100;
/** Longer than any fault lasts. */
const CONNECT_LIMIT = 5000;

/** The address of the servers for a worker process; plain data. */
export interface Address extends Way {
  readonly topology: 'single' | 'cluster' | 'sentinel' | 'quorum';
}

/** A connection and what closes it. */
export interface Connection {
  readonly target: RedisTarget | Backend;
  close(): Promise<void>;
}

/** Connects, also through faults that prevent the first connection. */
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
  single: ({ kind, ports: [port] }) => openClient(kind, `redis://127.0.0.1:${port}`),
  cluster: (address) => established(clusterClient(address)),
  sentinel: (address) => established(sentinelClient(address)),
  quorum: async ({ kind, ports }) => {
    const opening = ports.map((port) => openClient(kind, `redis://127.0.0.1:${port}`));
    const clients = await Promise.all(opening);
    // Each worker reaches the nodes through its own proxies: their addresses are no names.
    const targets = clients.map(({ target }) => target).filter(isSingle);
    const named = targets.map((target, i) => [`node${i}`, target] as const);
    const close = async (): Promise<void> => {
      for (const each of clients) await each.close();
    };
    return { target: quorum(Object.fromEntries(named)), close };
  },
};

/**
 * Faults may keep a client from ever ending its first connect, as a cluster of ioredis did. A try
 * that fails closes its client.
 */
async function established(client: TopologyClient): Promise<Connection> {
  const connecting = client.connect().then(() => client);
  const first = await Promise.race([connecting, sleep(CONNECT_LIMIT)]).catch(() => undefined);
  if (first !== undefined) return first;
  // It may fail when the limit has decided.
  connecting.catch(() => undefined);
  await Promise.allSettled([client.close()]);
  throw new Error(`no connection within ${CONNECT_LIMIT} ms`);
}

function isSingle(target: RedisTarget): target is SingleTarget {
  return !Array.isArray(target);
}
