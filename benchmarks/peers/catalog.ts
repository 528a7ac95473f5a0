import type { Adapter } from './adapter.js';

export type PeerId =
  | 'redsem-node-redis'
  | 'redsem-ioredis'
  | 'redsem-memory'
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

/** A worker program: the whole of redsem in it, or one from which its telemetry is removed. */
export type Build = 'whole' | 'without-telemetry';

export interface Peer {
  readonly id: PeerId;
  readonly label: string;
  readonly kind: 'redsem' | 'peer' | 'floor';
  /** The highest limit that it can do. */
  readonly maxLimit: number;
  /** Whether it keeps a held permit alive for as long as its holder lives. */
  readonly extends: boolean;
  /**
   * What it sends outside scripts; the server's statistics count what scripts call under the same
   * names.
   */
  readonly plainCommands: readonly string[];
  readonly build: Build;
  load(): Promise<Adapter>;
}

const counting = {
  maxLimit: Infinity,
  extends: true,
  plainCommands: [],
  build: 'whole',
} as const;
const floor = { ...counting, kind: 'floor', extends: false } as const;

export const peers: readonly Peer[] = [
  {
    ...counting,
    id: 'redsem-node-redis',
    label: 'redsem (node-redis)',
    kind: 'redsem',
    load: () => import('./redsem-node-redis.js'),
  },
  {
    ...counting,
    id: 'redsem-ioredis',
    label: 'redsem (ioredis)',
    kind: 'redsem',
    load: () => import('./redsem-ioredis.js'),
  },
  {
    ...counting,
    id: 'redis-semaphore',
    label: 'redis-semaphore',
    kind: 'peer',
    plainCommands: ['zrem'],
    load: () => import('./redis-semaphore.js'),
  },
  {
    ...counting,
    id: 'redlock',
    label: 'redlock 5 beta',
    kind: 'peer',
    maxLimit: 1,
    load: () => import('./redlock.js'),
  },
  {
    ...counting,
    id: 'bottleneck',
    label: 'bottleneck',
    kind: 'peer',
    extends: false,
    load: () => import('./bottleneck.js'),
  },
  {
    ...counting,
    id: 'polling',
    label: 'polling',
    kind: 'peer',
    load: () => import('./polling.js'),
  },
  {
    ...floor,
    id: 'floor-node-redis',
    label: 'floor (node-redis)',
    load: () => import('./floor-node-redis.js'),
  },
  {
    ...floor,
    id: 'floor-ioredis',
    label: 'floor (ioredis)',
    load: () => import('./floor-ioredis.js'),
  },
];

/** redsem without a server. */
export const embedded: Peer = {
  ...counting,
  id: 'redsem-memory',
  label: 'redsem (in memory)',
  kind: 'redsem',
  load: () => import('./redsem-memory.js'),
};

/**
 * redsem with and without a listener on its channels, and the least that either could
 * cost.
 */
export const telemetryPeers: readonly Peer[] = [
  {
    ...counting,
    id: 'telemetry-removed',
    label: 'telemetry left out',
    kind: 'floor',
    build: 'without-telemetry',
    load: () => import('./redsem-node-redis.js'),
  },
  {
    ...counting,
    id: 'telemetry-unheard',
    label: 'no subscriber',
    kind: 'redsem',
    load: () => import('./redsem-node-redis.js'),
  },
  {
    ...counting,
    id: 'telemetry-heard',
    label: 'all channels heard',
    kind: 'redsem',
    load: () => import('./redsem-with-subscribers.js'),
  },
];

/** What a shell starts; no worker does it. */
export const programs: readonly Pick<Peer, 'id' | 'label'>[] = [
  { id: 'start-node', label: 'node -e 0' },
  { id: 'start-ioredis', label: 'redsem run (ioredis)' },
  { id: 'start-node-redis', label: 'redsem run (node-redis)' },
];

const all = [...peers, embedded, ...telemetryPeers];

/** Whether its scripts are redsem's: with telemetry or without. */
export function isRedsem(peer: Peer): boolean {
  return peer.kind === 'redsem' || telemetryPeers.includes(peer);
}

/** In the order in which reports show them. */
export const peerIds: readonly PeerId[] = [...all, ...programs].map(({ id }) => id);

/** All that limit permits, the floors aside. */
export const semaphores: readonly Peer[] = peers.filter(({ kind }) => kind !== 'floor');

export function peerOf(id: PeerId): Peer {
  const peer = all.find((each) => each.id === id);
  if (peer === undefined) throw new Error(`no peer ${id}`);
  return peer;
}
