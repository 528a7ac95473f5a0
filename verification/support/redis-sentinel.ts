import { setTimeout as sleep } from 'node:timers/promises';

import { eventually } from '../../test/support/eventually.js';
import { type FaultProxy, startProxy } from './fault-proxy.js';
import { startServer, type TestServer } from '../../test/support/redis-server.js';

/** Longer than a client waits before it connects again, in ms. */
const RETRY = 2500;

/** The name under which the sentinels know their master. */
export const MASTER_NAME = 'main';

/**
 * A master, two replicas and three sentinels of a test's own on loopback. Replicas, sentinels and
 * their clients reach the first master through a proxy only, by which it can be cut off from all of
 * them.
 */
export async function startSentinels(): Promise<TestSentinels> {
  const args = ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'];
  const starts = Array.from({ length: 3 }, () => startServer({ args }));
  const servers = await Promise.all(starts);
  const [master, ...replicas] = servers;
  const proxy = await startProxy(master?.port ?? 0);
  for (const replica of replicas) await follow(replica, proxy.port);
  await eventually(() => allLinked(replicas), 'the replicas do not follow their master');
  const watching = Array.from({ length: 3 }, () => startSentinel(proxy.port));
  const started = new TestSentinels(servers, await Promise.all(watching), proxy);
  await started.repair();
  return started;
}

export class TestSentinels {
  readonly servers: readonly TestServer[];
  readonly #sentinels: readonly TestServer[];
  readonly #proxy: FaultProxy;

  constructor(servers: readonly TestServer[], sentinels: readonly TestServer[], proxy: FaultProxy) {
    this.servers = servers;
    this.#sentinels = sentinels;
    this.#proxy = proxy;
  }

  /** Of the sentinels. */
  get ports(): number[] {
    return this.#sentinels.map(({ port }) => port);
  }

  /** Where the others find a server. */
  portOf(server: TestServer): number {
    return server === this.servers[0] ? this.#proxy.port : server.port;
  }

  /**
   * Cuts the first server off from replicas, sentinels and their clients: a client with its own
   * port still reaches it.
   */
  isolateFirst(): void {
    this.#proxy.refuses = true;
    this.#proxy.hang(true);
    this.#proxy.cut();
  }

  /** The server that all sentinels name as the master; rejects while they differ. */
  async master(): Promise<TestServer> {
    const named = await Promise.all(
      this.#sentinels.map((sentinel) => ask(sentinel, 'GET-MASTER-ADDR-BY-NAME')),
    );
    const ports = new Set(named.map((address) => Number((address as string[])[1])));
    const master = this.servers.find((one) => ports.size === 1 && ports.has(this.portOf(one)));
    if (master === undefined) throw new Error('the sentinels name different masters');
    return master;
  }

  async replicas(): Promise<TestServer[]> {
    const master = await this.master();
    return this.servers.filter((server) => server !== master);
  }

  async command(...args: string[]): Promise<unknown> {
    return (await this.master()).command(...args);
  }

  /** Resolves with the new master when the sentinels agree on it, and it calls itself a master. */
  async untilFailover(from: TestServer): Promise<TestServer> {
    await eventually(async () => {
      const promoted = await this.master();
      return promoted !== from && (await promoted.stat('replication', 'role')) === 'master';
    }, 'no failover');
    return this.master();
  }

  /**
   * Brings every server back, and resolves once the two replicas follow and each sentinel sees all
   * of that.
   */
  async repair(): Promise<void> {
    this.#proxy.hang(false);
    this.#proxy.refuses = false;
    for (const server of this.servers) {
      server.resume();
      await server.command('PING').catch(() => server.restart());
    }
    // Where it can be found once it is a replica.
    const announced = ['replica-announce-port', String(this.#proxy.port)];
    await this.servers[0]?.command('CONFIG', 'SET', ...announced);
    await eventually(async () => {
      const [master, replicas] = [await this.master(), await this.replicas()];
      // The sentinels demote a master of old by themselves, but only after ten seconds.
      for (const replica of replicas) {
        const port = Number(await replica.stat('replication', 'master_port'));
        if (port !== this.portOf(master)) await follow(replica, this.portOf(master));
      }
      const seen = await Promise.all(this.#sentinels.map(seesAll));
      return seen.every(Boolean) && (await allLinked(replicas));
    }, 'the sentinels do not see a master with two replicas');
  }

  async stop(): Promise<void> {
    // node-redis 6 tries a subscriber of a master of old every 2 s, and drops it only once that has
    // connected: left to a dead port it would keep this process alive for ever.
    await sleep(RETRY);
    await Promise.all([...this.#sentinels, ...this.servers].map((server) => server.stop()));
    await this.#proxy.stop();
  }
}

async function startSentinel(master: number): Promise<TestServer> {
  const sentinel = await startServer({ sentinel: true });
  await ask(sentinel, 'MONITOR', '127.0.0.1', String(master), '2');
  // How long the master may be silent before a sentinel takes it for dead, and other bounds, in ms.
  await ask(sentinel, 'SET', 'down-after-milliseconds', '1000', 'failover-timeout', '3000');
  await ask(sentinel, 'SET', 'parallel-syncs', '2');
  return sentinel;
}

/** Something about the master. */
function ask(sentinel: TestServer, what: string, ...args: string[]): Promise<unknown> {
  return sentinel.command('SENTINEL', what, MASTER_NAME, ...args);
}

async function follow(replica: TestServer, master: number): Promise<void> {
  await replica.command('REPLICAOF', '127.0.0.1', String(master));
}

async function allLinked(replicas: readonly TestServer[]): Promise<boolean> {
  const links = replicas.map((replica) => replica.stat('replication', 'master_link_status'));
  return (await Promise.all(links)).every((link) => link === 'up');
}

/** A master that is well, two replicas that are, and the two other sentinels. */
async function seesAll(sentinel: TestServer): Promise<boolean> {
  const master = (await ask(sentinel, 'MASTER')) as string[];
  const replicas = (await ask(sentinel, 'REPLICAS')) as string[][];
  const others = (await ask(sentinel, 'SENTINELS')) as unknown[];
  const flags = [master, ...replicas].map((fields) => fields[fields.indexOf('flags') + 1]);
  return flags.join() === 'master,slave,slave' && others.length === 2;
}
