import { eventually } from '../../test/support/eventually.js';
import { startServer, type TestServer } from '../../test/support/redis-server.js';

const SLOTS = 16_384;
const MASTERS = 3;

const OPTIONS: Readonly<Record<string, string>> = {
  'cluster-enabled': 'yes',
  'cluster-config-file': 'nodes.conf',
  // How long a node may be silent before the others take it for dead, in ms.
  'cluster-node-timeout': '1000',
  // A replica may take over however long its link to a dead master has been down.
  'cluster-replica-validity-factor': '0',
  'repl-diskless-sync-delay': '0',
  // CLUSTER SLOTS shows a replica only once it has heard from its master.
  'repl-ping-replica-period': '1',
};

/** The cluster as a node knows it; the port of a shard's master comes first. */
type View = Awaited<ReturnType<typeof viewOf>>;

/** A cluster of a test's own on loopback: three masters, each with one replica. */
export async function startCluster(): Promise<TestCluster> {
  const args = Object.entries(OPTIONS).flatMap(([name, value]) => [`--${name}`, value]);
  const starts = Array.from({ length: 2 * MASTERS }, () => startServer({ args }));
  const cluster = new TestCluster(await Promise.all(starts));
  await join(cluster.nodes);
  await cluster.untilWhole();
  return cluster;
}

export class TestCluster {
  readonly nodes: readonly TestServer[];
  /** Nodes that a test has killed or paused; they are not asked. */
  readonly #down = new Set<TestServer>();

  constructor(nodes: readonly TestServer[]) {
    this.nodes = nodes;
  }

  get ports(): number[] {
    return this.nodes.map(({ port }) => port);
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
      // A node that hung and was killed as well has no process any more.
      await node.command('PING').catch(() => node.restart());
    }
    this.#down.clear();
    await this.untilWhole();
  }

  /** The node that serves a semaphore now, as most of the others see it. */
  async masterOf(name: string): Promise<TestServer> {
    const slot = await this.#slotOf(name);
    return this.#server(shardOf(await this.#view(), slot).ports[0]);
  }

  async replicasOf(name: string): Promise<TestServer[]> {
    const slot = await this.#slotOf(name);
    const [, ...replicas] = shardOf(await this.#view(), slot).ports;
    return replicas.map((port) => this.#server(port));
  }

  async masters(): Promise<TestServer[]> {
    const ports = new Set((await this.#view()).shards.map((shard) => shard.ports[0]));
    return [...ports].map((port) => this.#server(port));
  }

  /** A command on the node that has its first key; KEYS and the like on every master. */
  async command(...args: string[]): Promise<unknown> {
    if (/^(KEYS|PUBSUB|SCRIPT|FLUSHALL)$/i.test(args[0] ?? '')) {
      const masters = await this.masters();
      return (await Promise.all(masters.map((master) => master.command(...args)))).flat();
    }
    for (let node = this.#anyone(); ;) {
      try {
        return await node.command(...args);
      } catch (error) {
        const port = /^MOVED \d+ [\d.]+:(\d+)$/.exec((error as Error).message)?.[1];
        if (port === undefined) throw error;
        node = this.#server(Number(port));
      }
    }
  }

  /**
   * Begins to move a semaphore's slot to another master, with some of its keys, by default with
   * one; the others follow when the function is called. Meanwhile the old node answers ASK, or both
   * answer TRYAGAIN.
   */
  async moveSlot(
    name: string,
    isFirst: (key: string, index: number) => boolean = (_key, index) => index === 0,
  ): Promise<() => Promise<void>> {
    const [from, slot] = [await this.masterOf(name), await this.#slotOf(name)];
    const to = (await this.masters()).find((master) => master !== from);
    if (to === undefined) throw new Error('a cluster of one master');
    const number = String(slot);
    const keys = async () =>
      (await from.command('CLUSTER', 'GETKEYSINSLOT', number, '1000')) as string[];
    const move = async (moved: readonly string[]): Promise<void> => {
      for (const key of moved) {
        await from.command('MIGRATE', '127.0.0.1', String(to.port), key, '0', '5000');
      }
    };
    await to.command('CLUSTER', 'SETSLOT', number, 'IMPORTING', await idOf(from));
    await from.command('CLUSTER', 'SETSLOT', number, 'MIGRATING', await idOf(to));
    await move((await keys()).filter(isFirst));
    return async () => {
      // The old node may have new keys until the move has ended.
      for (let left = await keys(); left.length > 0; left = await keys()) await move(left);
      for (const node of [to, from]) {
        await node.command('CLUSTER', 'SETSLOT', number, 'NODE', await idOf(to));
      }
      await eventually(async () => {
        const views = await Promise.all(this.#running().map(viewOf));
        return views.every((view) => shardOf(view, slot).ports[0] === to.port);
      }, 'the nodes do not agree on the owner of the hash slot');
    };
  }

  /** Resolves once every node counts the cluster as whole and every replica follows its master. */
  async untilWhole(): Promise<void> {
    const areWhole = async () => (await Promise.all(this.nodes.map(seesWhole))).every(Boolean);
    await eventually(areWhole, 'the cluster is not whole');
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  async #slotOf(name: string): Promise<number> {
    return Number(await this.#anyone().command('CLUSTER', 'KEYSLOT', `{${name}}`));
  }

  #running(): TestServer[] {
    return this.nodes.filter((node) => !this.#down.has(node));
  }

  #anyone(): TestServer {
    return this.#server(this.#running()[0]?.port);
  }

  #server(port: number | undefined): TestServer {
    const found = this.nodes.find((node) => node.port === port);
    if (found === undefined) throw new Error(`no node on port ${port}`);
    return found;
  }

  /**
   * The cluster as the running nodes see it. If they disagree, the node with the latest change is
   * right.
   */
  async #view(): Promise<View> {
    const views = await Promise.all(this.#running().map(viewOf));
    const epoch = ({ info }: View): number => Number(info.get('cluster_current_epoch'));
    return views.reduce((latest, view) => (epoch(view) > epoch(latest) ? view : latest));
  }
}

function shardOf({ shards }: View, slot: number) {
  const found = shards.find(({ first, last }) => first <= slot && slot <= last);
  if (found === undefined) throw new Error(`no node serves slot ${slot}`);
  return found;
}

async function viewOf(node: TestServer) {
  const lines = String(await node.command('CLUSTER', 'INFO')).split('\r\n');
  const info = new Map(lines.map((line) => line.split(':') as [string, string]));
  type Row = [first: number, last: number, ...nodes: [host: string, port: number][]];
  const rows = (await node.command('CLUSTER', 'SLOTS')) as Row[];
  const shards = rows.map(([first, last, ...nodes]) => {
    return { first, last, ports: nodes.map(([, port]) => port) };
  });
  return { info, shards };
}

/** As clients will see it: each shard with its replica. */
async function seesWhole(node: TestServer): Promise<boolean> {
  const { info, shards } = await viewOf(node);
  const fields = ['state', 'slots_ok', 'known_nodes', 'size'];
  const seen = fields.map((field) => info.get(`cluster_${field}`)).join(' ');
  if (seen !== `ok ${SLOTS} ${2 * MASTERS} ${MASTERS}`) return false;
  const link = await node.stat('replication', 'master_link_status');
  return (link === 'up' || link === '') && shards.every(({ ports }) => ports.length === 2);
}

async function join(nodes: readonly TestServer[]): Promise<void> {
  const pairs = nodes.flatMap((node, i) =>
    nodes.slice(0, i).map((other) => [node, other] as const),
  );
  for (const [i, node] of nodes.entries()) {
    await node.command('CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1));
  }
  for (const [node, other] of pairs) {
    await eventually(() => hasMet(node, other), 'two nodes do not meet');
  }
  for (const [i, node] of nodes.entries()) {
    const master = nodes[i - MASTERS];
    if (master !== undefined) await node.command('CLUSTER', 'REPLICATE', await idOf(master));
    else {
      const [first, behind] = [i, i + 1].map((nth) => Math.ceil((nth * SLOTS) / MASTERS));
      await node.command('CLUSTER', 'ADDSLOTSRANGE', String(first), String(Number(behind) - 1));
    }
  }
}

/**
 * A node drops a meeting that is not over within a second: if it does not know of the other then,
 * they meet again.
 */
async function hasMet(node: TestServer, other: TestServer): Promise<boolean> {
  const known = String(await node.command('CLUSTER', 'NODES'));
  if (known.includes(await idOf(other))) return true;
  if (!known.includes(`:${other.port}@`)) {
    await node.command('CLUSTER', 'MEET', '127.0.0.1', String(other.port));
  }
  return false;
}

async function idOf(node: TestServer): Promise<string> {
  return String(await node.command('CLUSTER', 'MYID'));
}
