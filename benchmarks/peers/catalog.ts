import type { Adapter } from './adapter.js';

export type PeerId =
  | 'redsem-node-redis'
  | 'redsem-ioredis'
  | 'redis-semaphore'
  | 'redlock'
  | 'bottleneck'
  | 'polling'
  | 'floor-node-redis'
  | 'floor-ioredis';

export interface Peer {
  readonly id: PeerId;
  readonly label: string;
  readonly kind: 'redsem' | 'peer' | 'floor';
  /** The highest limit that it can do. */
  readonly maxLimit: number;
  /** Whether it keeps a held permit alive for as long as its holder lives. */
  readonly extends: boolean;
  /** What it sends outside scripts; the server's statistics count what scripts call under the same names. */
  readonly plainCommands: readonly string[];
  load(): Promise<Adapter>;
}

const counting = { maxLimit: Infinity, extends: true, plainCommands: [] } as const;
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

/** All that limit permits, the floors aside. */
export const semaphores: readonly Peer[] = peers.filter(({ kind }) => kind !== 'floor');

export function peerOf(id: PeerId): Peer {
  const peer = peers.find((each) => each.id === id);
  if (peer === undefined) throw new Error(`no peer ${id}`);
  return peer;
}
