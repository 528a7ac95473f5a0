import { type ServerOptions, startServer, type TestServer } from './redis-server.js';
import { eventually } from './eventually.js';

const SLOTS = 16_384;

/** How long a node may be silent before the others take it for dead, in ms. */
const NODE_TIMEOUT = 1000;

/** A cluster of a test's own on loopback: three masters, each with one replica. */
export async function startCluster(): Promise<TestCluster> {
  const nodes: TestServer[] = [];
  try {
    const starts = await Promise.allSettled(
      Array.from({ length: 6 }, () => startServer(clusterNode)),
    );
    nodes.push(...starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : [])));
    for (const start of starts) if (start.status === 'rejected') throw start.reason;
    await join(nodes);
    return new TestCluster(nodes);
  } catch (error) {
    await Promise.all(nodes.map((node) => node.stop()));
    throw error;
  }
}

const clusterNode: ServerOptions = {
  args: [
    '--cluster-enabled',
    'yes',
    '--cluster-config-file',
    'nodes.conf',
    '--cluster-node-timeout',
    String(NODE_TIMEOUT),
    // A replica may take over however long its link to a dead master has been down.
    '--cluster-replica-validity-factor',
    '0',
    '--repl-diskless-sync-delay',
    '0',
    // CLUSTER SLOTS tells of a replica only once it has heard from its master.
    '--repl-ping-replica-period',
    '1',
  ],
};

export class TestCluster {
  readonly nodes: readonly TestServer[];
  /** Those that a test has killed or paused: they are not asked. */
  readonly #down = new Set<TestServer>();
  /** One MIGRATE at a time: it blocks a node, and two that move keys to each other would wait for each other. */
  #moving: Promise<void> = Promise.resolve();

  constructor(nodes: readonly TestServer[]) {
    this.nodes = nodes;
  }

  get addresses(): { host: string; port: number }[] {
    return this.nodes.map(({ port }) => ({ host: '127.0.0.1', port }));
  }

  async kill(node: TestServer): Promise<void> {
    this.#down.add(node);
    await node.kill();
  }

  /** Hangs a node; its sockets stay open. */
  pause(node: TestServer): void {
    this.#down.add(node);
    node.pause();
  }

  /** Brings everything back that was killed or paused, and waits until the cluster is whole. */
  async repair(): Promise<void> {
    for (const node of this.#down) {
      node.resume();
      // One that hung may have its process, but not its answers, when it was killed as well.
      await node.command('PING').catch(() => node.restart());
    }
    this.#down.clear();
    await this.untilWhole();
  }

  async slotOf(key: string): Promise<number> {
    return Number(await present(this.#running()[0]).command('CLUSTER', 'KEYSLOT', key));
  }

  /** The node that serves a slot now, as most of the others see it. */
  async masterOf(slot: number): Promise<TestServer> {
    return this.#server((await this.#shardOf(slot)).master);
  }

  async replicasOf(slot: number): Promise<TestServer[]> {
    return (await this.#shardOf(slot)).replicas.map((port) => this.#server(port));
  }

  async masters(): Promise<TestServer[]> {
    const ports = new Set((await this.#shards()).map(({ master }) => master));
    return [...ports].map((port) => this.#server(port));
  }

  /** A command on the node that has its first key; KEYS and the like on every master. */
  async command(...args: string[]): Promise<unknown> {
    const [name = ''] = args;
    if (/^(KEYS|PUBSUB|SCRIPT|FLUSHALL)$/i.test(name)) {
      const masters = await this.masters();
      const replies = await Promise.all(masters.map((master) => master.command(...args)));
      return replies.flat();
    }
    for (let node = present(this.#running()[0]); ;) {
      try {
        return await node.command(...args);
      } catch (error) {
        const port = /^MOVED \d+ [\d.]+:(\d+)$/.exec((error as Error).message)?.[1];
        if (port === undefined) throw error;
        node = this.#server(Number(port));
      }
    }
  }

  /** Begins to move a slot: from now on its old node answers ASK for what it no longer has. */
  async beginMove(slot: number, to: TestServer): Promise<void> {
    const from = await this.masterOf(slot);
    await to.command('CLUSTER', 'SETSLOT', String(slot), 'IMPORTING', await idOf(from));
    await from.command('CLUSTER', 'SETSLOT', String(slot), 'MIGRATING', await idOf(to));
  }

  /** Moves some keys of a slot; while only some of a script's keys have moved, both nodes answer TRYAGAIN. */
  async moveKeys(from: TestServer, to: TestServer, keys: readonly string[]): Promise<void> {
    const before = this.#moving;
    let done: () => void = () => {};
    this.#moving = new Promise((resolve) => (done = resolve));
    await before;
    try {
      for (const key of keys) {
        await from.command('MIGRATE', '127.0.0.1', String(to.port), key, '0', '5000');
      }
    } finally {
      done();
    }
  }

  keysIn(node: TestServer, slot: number): Promise<string[]> {
    const reply = node.command('CLUSTER', 'GETKEYSINSLOT', String(slot), '1000');
    return reply as Promise<string[]>;
  }

  /** Ends a move: the old node answers MOVED from now on. */
  async endMove(slot: number, from: TestServer, to: TestServer): Promise<void> {
    const id = await idOf(to);
    for (const node of [to, from]) {
      await node.command('CLUSTER', 'SETSLOT', String(slot), 'NODE', id);
    }
  }

  /** Moves what a slot still has, and ends the move: keys may be made at the old node until it has none. */
  async finishMove(slot: number, from: TestServer, to: TestServer): Promise<void> {
    for (;;) {
      const keys = await this.keysIn(from, slot);
      if (keys.length === 0) break;
      await this.moveKeys(from, to, keys);
    }
    await this.endMove(slot, from, to);
  }

  /** Resolves once every node that runs names the same one for a slot. */
  async untilServedBy(slot: number, server: TestServer): Promise<void> {
    await eventually(async () => {
      const views = await Promise.all(this.#running().map(viewOf));
      return views.every(({ shards }) => shardOf(shards, slot).master === server.port);
    }, 'the nodes do not agree on who serves the slot');
  }

  /** Resolves once every node that runs counts the cluster as whole and every replica follows its master. */
  async untilWhole(): Promise<void> {
    await eventually(() => allWhole(this.nodes), 'the cluster is not whole');
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  #running(): TestServer[] {
    return this.nodes.filter((node) => !this.#down.has(node));
  }

  #server(port: number): TestServer {
    return present(this.nodes.find((node) => node.port === port));
  }

  async #shardOf(slot: number): Promise<Shard> {
    return shardOf(await this.#shards(), slot);
  }

  /** As the running nodes see it; of those that disagree, the one with the latest change is right. */
  async #shards(): Promise<readonly Shard[]> {
    const views = await Promise.all(this.#running().map(viewOf));
    const [latest] = views.toSorted((a, b) => b.epoch - a.epoch);
    return latest?.shards ?? [];
  }
}

interface Shard {
  readonly first: number;
  readonly last: number;
  readonly master: number;
  readonly replicas: readonly number[];
}

interface View {
  readonly epoch: number;
  readonly shards: readonly Shard[];
}

type SlotsRow = [first: number, last: number, ...nodes: [host: string, port: number][]];

function shardOf(shards: readonly Shard[], slot: number): Shard {
  return present(shards.find(({ first, last }) => first <= slot && slot <= last));
}

async function viewOf(node: TestServer): Promise<View> {
  const info = await infoOf(node);
  const rows = (await node.command('CLUSTER', 'SLOTS')) as SlotsRow[];
  const shards = rows.map(([first, last, master, ...replicas]) => {
    return { first, last, master: master?.[1] ?? 0, replicas: replicas.map(([, port]) => port) };
  });
  return { epoch: Number(info.get('cluster_current_epoch')), shards };
}

async function join(nodes: readonly TestServer[]): Promise<void> {
  const masters = nodes.slice(0, 3);
  for (const [i, node] of nodes.entries()) {
    await node.command('CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1));
    for (const other of nodes.slice(0, i)) await meet(node, other);
  }
  for (const [i, node] of nodes.entries()) {
    for (const other of nodes.slice(0, i)) {
      await eventually(() => hasMet(node, other), 'two nodes do not meet');
    }
  }
  for (const [i, master] of masters.entries()) {
    const [first, end] = [i, i + 1].map((part) => Math.floor((part * SLOTS) / masters.length));
    await master.command('CLUSTER', 'ADDSLOTS', ...range(first ?? 0, end ?? SLOTS));
  }
  for (const [i, replica] of nodes.slice(3).entries()) {
    await replica.command('CLUSTER', 'REPLICATE', await idOf(present(masters[i])));
  }
  await eventually(() => allWhole(nodes), 'the cluster does not come up');
}

function range(first: number, end: number): string[] {
  return Array.from({ length: end - first }, (_, i) => String(first + i));
}

async function meet(node: TestServer, other: TestServer): Promise<void> {
  await node.command('CLUSTER', 'MEET', '127.0.0.1', String(other.port));
}

/** A node drops a meeting that is not over within a second: if it does not know of the other then, they meet again. */
async function hasMet(node: TestServer, other: TestServer): Promise<boolean> {
  const known = String(await node.command('CLUSTER', 'NODES'));
  if (known.includes(await idOf(other))) return true;
  if (!known.includes(`:${other.port}@`)) await meet(node, other);
  return false;
}

async function allWhole(nodes: readonly TestServer[]): Promise<boolean> {
  const whole = await Promise.all(
    nodes.map(async (node) => {
      const cluster = await infoOf(node);
      const counts = ['cluster_slots_ok', 'cluster_known_nodes', 'cluster_size'];
      const seen = counts.map((field) => Number(cluster.get(field)));
      if (cluster.get('cluster_state') !== 'ok') return false;
      if (seen.join() !== [SLOTS, nodes.length, 3].join()) return false;
      return (await linkOf(node)) === 'up' && !(await lacksReplicas(node));
    }),
  );
  return whole.every(Boolean);
}

/** A master counts as linked. */
async function linkOf(node: TestServer): Promise<string> {
  return (await node.stat('replication', 'master_link_status')) || 'up';
}

/** As clients will see it: each shard with its replica. */
async function lacksReplicas(node: TestServer): Promise<boolean> {
  const rows = (await node.command('CLUSTER', 'SLOTS')) as SlotsRow[];
  return rows.some((row) => row.length !== 4);
}

async function infoOf(node: TestServer): Promise<Map<string, string>> {
  const lines = String(await node.command('CLUSTER', 'INFO')).split('\r\n');
  return new Map(lines.map((line) => line.split(':') as [string, string]));
}

async function idOf(node: TestServer): Promise<string> {
  return String(await node.command('CLUSTER', 'MYID'));
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('no such node');
  return value;
}
