import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { type FaultProxy, startProxy } from './fault-proxy.js';
import { pickLoopbackPort } from './loopback-port.js';
import { spawnOwned, untilExit } from './owned-processes.js';
import { findServer, startServer, type TestServer } from './redis-server.js';
import { sendRespCommand } from './resp-command.js';
import { makeTemporaryFolder, removeTemporaryFolder } from './temporary-folder.js';
import { eventually } from './eventually.js';

/** How long the master may be silent before a sentinel takes it for dead, in ms. */
const DOWN_AFTER = 1000;

/** Longer than a client waits before it connects again, in ms. */
const RETRY = 2500;

/** The name under which the sentinels know their master. */
export const MASTER_NAME = 'main';

/**
 * A master, two replicas and three sentinels of a test's own on loopback. Replicas, sentinels and their clients
 * reach the first master through a proxy only, by which it can be cut off from all of them.
 */
export async function startSentinels(): Promise<TestSentinels> {
  const servers: TestServer[] = [];
  const sentinels: Sentinel[] = [];
  let proxy: FaultProxy | undefined;
  try {
    const args = ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'];
    for (let i = 0; i < 3; i += 1) servers.push(await startServer({ args }));
    const [master, ...replicas] = servers;
    if (master === undefined) throw new Error('no master');
    proxy = await startProxy(master.port);
    await announce(master, proxy.port);
    for (const replica of replicas) await follow(replica, proxy.port);
    await eventually(() => allLinked(replicas), 'the replicas do not follow their master');
    for (let i = 0; i < 3; i += 1) sentinels.push(await startSentinel(proxy.port));
    const started = new TestSentinels(servers, sentinels, proxy);
    await started.untilWhole();
    return started;
  } catch (error) {
    await Promise.all([...servers, ...sentinels].map((process) => process.stop()));
    await proxy?.stop();
    throw error;
  }
}

export class TestSentinels {
  readonly servers: readonly TestServer[];
  readonly #sentinels: readonly Sentinel[];
  readonly #proxy: FaultProxy;

  constructor(servers: readonly TestServer[], sentinels: readonly Sentinel[], proxy: FaultProxy) {
    this.servers = servers;
    this.#sentinels = sentinels;
    this.#proxy = proxy;
  }

  /** Of the sentinels. */
  get addresses(): { host: string; port: number }[] {
    return this.#sentinels.map(({ port }) => ({ host: '127.0.0.1', port }));
  }

  /** Where the others find a server. */
  portOf(server: TestServer): number {
    return server === this.servers[0] ? this.#proxy.port : server.port;
  }

  /** The server that all sentinels name as the master; undefined while they differ. */
  async agreedMaster(): Promise<TestServer | undefined> {
    const named = await Promise.all(this.#sentinels.map(masterPort));
    const [port] = new Set(named);
    if (new Set(named).size > 1) return undefined;
    return this.servers.find((server) => this.portOf(server) === port);
  }

  /** Cuts the first server off from replicas, sentinels and their clients: who has its own port still reaches it. */
  isolateFirst(): TestServer {
    this.#proxy.refuse(true);
    this.#proxy.hang(true);
    this.#proxy.cut();
    return present(this.servers[0]);
  }

  async master(): Promise<TestServer> {
    const master = await this.agreedMaster();
    if (master === undefined) throw new Error('the sentinels do not agree on a master');
    return master;
  }

  async command(...args: string[]): Promise<unknown> {
    return (await this.master()).command(...args);
  }

  /** Resolves with the new master once the sentinels have agreed on one that says so itself. */
  async untilFailover(from: TestServer): Promise<TestServer> {
    let promoted: TestServer | undefined;
    await eventually(async () => {
      promoted = await this.agreedMaster();
      if (promoted === undefined || promoted === from) return false;
      return (await promoted.stat('replication', 'role')) === 'master';
    }, 'no failover');
    return promoted ?? from;
  }

  /** Has another server promoted though the master is well. */
  async failOver(): Promise<void> {
    const master = await this.master();
    await present(this.#sentinels[1]).command('SENTINEL', 'FAILOVER', MASTER_NAME);
    await this.untilFailover(master);
  }

  /** Brings every server back, and resolves once the two replicas follow and each sentinel sees all of that. */
  async repair(): Promise<void> {
    this.#proxy.hang(false);
    this.#proxy.refuse(false);
    for (const server of this.servers) {
      server.resume();
      await server.command('PING').catch(() => server.restart());
    }
    await announce(present(this.servers[0]), this.#proxy.port);
    await this.untilWhole();
  }

  async untilWhole(): Promise<void> {
    await eventually(async () => {
      const master = await this.master();
      const replicas = this.servers.filter((server) => server !== master);
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
    // node-redis 6 tries a subscriber of a master of old every 2 s, and drops it only once that has connected: left
    // to a dead port it would keep this process alive for ever.
    await sleep(RETRY);
    await Promise.all([...this.#sentinels, ...this.servers].map((process) => process.stop()));
    await this.#proxy.stop();
  }
}

/** A sentinel process; its configuration is a file that it rewrites. */
class Sentinel {
  readonly port: number;
  readonly #child: ChildProcess;
  readonly #directory: string;

  constructor(port: number, child: ChildProcess, directory: string) {
    this.port = port;
    this.#child = child;
    this.#directory = directory;
  }

  command(...args: string[]): Promise<unknown> {
    return sendRespCommand(this.port, args);
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    await untilExit(this.#child);
    await removeTemporaryFolder(this.#directory);
  }
}

async function startSentinel(master: number): Promise<Sentinel> {
  const binary = findServer();
  if (binary === undefined) throw new Error('no redis-server found');
  const directory = makeTemporaryFolder();
  const port = await pickLoopbackPort();
  const file = join(directory, 'sentinel.conf');
  writeFileSync(file, configuration(port, directory, master));
  const child = spawnOwned(binary, [file, '--sentinel'], { cwd: directory, stdio: 'ignore' });
  const sentinel = new Sentinel(port, child, directory);
  try {
    await eventually(
      async () => (await sentinel.command('PING')) === 'PONG',
      'a sentinel does not start',
    );
  } catch (error) {
    await sentinel.stop();
    throw error;
  }
  return sentinel;
}

function configuration(port: number, directory: string, master: number): string {
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir "${directory}"`,
    `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${master} 2`,
    `sentinel down-after-milliseconds ${MASTER_NAME} ${DOWN_AFTER}`,
    `sentinel failover-timeout ${MASTER_NAME} 3000`,
    `sentinel parallel-syncs ${MASTER_NAME} 2`,
  ];
  return `${lines.join('\n')}\n`;
}

/** Where it can be found once it is a replica. */
async function announce(server: TestServer, port: number): Promise<void> {
  await server.command('CONFIG', 'SET', 'replica-announce-port', String(port));
}

async function follow(replica: TestServer, master: number): Promise<void> {
  await replica.command('REPLICAOF', '127.0.0.1', String(master));
}

async function allLinked(replicas: readonly TestServer[]): Promise<boolean> {
  const links = await Promise.all(
    replicas.map((replica) => replica.stat('replication', 'master_link_status')),
  );
  return links.every((link) => link === 'up');
}

async function masterPort(sentinel: Sentinel): Promise<number> {
  const address = await sentinel.command('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER_NAME);
  return Number((address as string[])[1]);
}

/** A master that is well, two replicas that are, and the two other sentinels. */
async function seesAll(sentinel: Sentinel): Promise<boolean> {
  const [master, replicas, others] = await Promise.all([
    sentinel.command('SENTINEL', 'MASTER', MASTER_NAME),
    sentinel.command('SENTINEL', 'REPLICAS', MASTER_NAME),
    sentinel.command('SENTINEL', 'SENTINELS', MASTER_NAME),
  ]);
  const all = [fieldsOf(master), ...(replicas as unknown[]).map(fieldsOf)];
  const flags = all.map((fields) => fields.get('flags'));
  return flags.join() === 'master,slave,slave' && (others as unknown[]).length === 2;
}

function fieldsOf(reply: unknown): Map<string, string> {
  const texts = reply as string[];
  const fields = new Map<string, string>();
  for (let i = 0; i < texts.length; i += 2) fields.set(texts[i] ?? '', texts[i + 1] ?? '');
  return fields;
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('no such server');
  return value;
}
