import type { Adapter } from './adapter.js';

export type PeerId =
  | 'redsem-node-redis'
  | 'redsem-ioredis'
  | 'redsem-memory'
  | 'redsem-kept'
  | 'redis-semaphore'
  | 'redlock'
  | 'bottleneck'
  | 'polling'
  | 'floor-node-redis'
  | 'floor-ioredis'
  | 'telemetry-removed'
  | 'telemetry-unheard'
  | 'telemetry-heard'
  | 'start-node'
  | 'start-ioredis'
  | 'start-node-redis';

/** A worker program, with redsem as it is, or with its telemetry removed. */
export type Build = 'whole' | 'without-telemetry';

export interface Peer {
  readonly id: PeerId;
  readonly label: string;
  readonly kind: 'redsem' | 'peer' | 'floor';
  readonly load: () => Promise<Adapter>;
  /** The highest limit that the peer supports. */
  readonly maxLimit: number;
  /** Whether the peer keeps a held permit alive as long as its holder lives. */
  readonly extends: boolean;
  /**
   * Commands that the peer sends outside of scripts. The server's statistics count commands inside
   * of scripts under the same names.
   */
  readonly plainCommands: readonly string[];
  readonly build: Build;
}

/** `more`: fields that differ from the usual peer. */
function entry(
  id: PeerId,
  label: string,
  kind: Peer['kind'],
  load: () => Promise<Adapter>,
  more: Partial<Peer> = {},
): Peer {
  const usual = { maxLimit: Infinity, extends: true, plainCommands: [], build: 'whole' } as const;
  return { id, label, kind, load, ...usual, ...more };
}

type RedsemConnect =
  'connectNodeRedis' | 'connectIoredis' | 'connectKept' | 'connectMemory' | 'connectHeard';

/** Imported only on demand, so that a process loads only the peer that it needs. */
const redsem = (name: RedsemConnect) => async (): Promise<Adapter> => {
  const { [name]: connect } = await import('./redsem.js');
  return { connect };
};
const nodeRedis = redsem('connectNodeRedis');

const floor = async (client: 'connectIoredis' | 'connectNodeRedis'): Promise<Adapter> => ({
  connect: (await import('./floor.js'))[client],
});

export const peers: readonly Peer[] = [
  entry('redsem-node-redis', 'redsem (node-redis)', 'redsem', nodeRedis),
  entry('redsem-ioredis', 'redsem (ioredis)', 'redsem', redsem('connectIoredis')),
  entry('redis-semaphore', 'redis-semaphore', 'peer', () => import('./redis-semaphore.js'), {
    plainCommands: ['zrem'],
  }),
  entry('redlock', 'redlock 5 beta', 'peer', () => import('./redlock.js'), { maxLimit: 1 }),
  entry('bottleneck', 'bottleneck', 'peer', () => import('./bottleneck.js'), { extends: false }),
  entry('polling', 'polling', 'peer', () => import('./polling.js')),
  entry('floor-node-redis', 'floor (node-redis)', 'floor', () => floor('connectNodeRedis'), {
    extends: false,
  }),
  entry('floor-ioredis', 'floor (ioredis)', 'floor', () => floor('connectIoredis'), {
    extends: false,
  }),
];

/** redsem without a server. */
export const embedded: Peer = entry(
  'redsem-memory',
  'redsem (in memory)',
  'redsem',
  redsem('connectMemory'),
);

/** redsem with a keeper: a separate thread renews the permits. */
export const kept: Peer = entry(
  'redsem-kept',
  'redsem (ioredis), with a keeper',
  'redsem',
  redsem('connectKept'),
);

/** redsem with and without a listener on its channels, and the floor of both. */
export const telemetryPeers: readonly Peer[] = [
  entry('telemetry-removed', 'telemetry left out', 'floor', nodeRedis, {
    build: 'without-telemetry',
  }),
  entry('telemetry-unheard', 'no subscriber', 'redsem', nodeRedis),
  entry('telemetry-heard', 'all channels heard', 'redsem', redsem('connectHeard')),
];

/** The command line, which a shell starts and no worker. */
export const programs: readonly Pick<Peer, 'id' | 'label'>[] = [
  { id: 'start-node', label: 'node -e 0' },
  { id: 'start-ioredis', label: 'redsem run (ioredis)' },
  { id: 'start-node-redis', label: 'redsem run (node-redis)' },
];

const all = [...peers, embedded, kept, ...telemetryPeers];

/** Whether its scripts are redsem's: with telemetry or without. */
export function isRedsem(peer: Peer): boolean {
  return peer.kind === 'redsem' || telemetryPeers.includes(peer);
}

/** All peers, in the order of the reports. */
export const peerIds: readonly PeerId[] = [...all, ...programs].map(({ id }) => id);

/** All peers that limit permits, without the floors. */
export const semaphores: readonly Peer[] = peers.filter(({ kind }) => kind !== 'floor');

export function peerOf(id: PeerId): Peer {
  const peer = all.find((each) => each.id === id);
  if (peer === undefined) throw new Error(`no peer ${id}`);
  return peer;
}
