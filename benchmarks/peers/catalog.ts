import type { Adapter } from './adapter.js';

/** A worker program, with redsem as it is, or with its telemetry removed. */
export type Build = 'whole' | 'without-telemetry';

interface Entry {
  readonly label: string;
  readonly kind: 'redsem' | 'peer' | 'floor';
  readonly load: () => Promise<Adapter>;
  /** The highest limit that the peer supports. */
  readonly maxLimit?: number;
  /** Whether the peer keeps a held permit alive as long as its holder lives. */
  readonly extends?: boolean;
  /**
   * Commands that the peer sends outside of scripts. The server's statistics count commands inside
   * of scripts under the same names.
   */
  readonly plainCommands?: readonly string[];
  readonly build?: Build;
}

type RedsemConnect =
  'connectNodeRedis' | 'connectIoredis' | 'connectKept' | 'connectMemory' | 'connectHeard';

/** Imported only on demand, so that a process loads only the peer that it needs. */
const redsem = (name: RedsemConnect) => async (): Promise<Adapter> => {
  const { [name]: connect } = await import('./redsem.js');
  return { connect };
};

const floor = (client: 'connectIoredis' | 'connectNodeRedis') => async (): Promise<Adapter> => ({
  connect: (await import('./floor.js'))[client],
});

const nodeRedis = { kind: 'redsem', load: redsem('connectNodeRedis') } as const;
const ioredis = { kind: 'redsem', load: redsem('connectIoredis') } as const;
const bare = { kind: 'floor', extends: false } as const;
const other = { kind: 'peer' } as const;

const catalog = {
  'redsem-node-redis': { label: 'redsem (node-redis)', ...nodeRedis },
  'redsem-ioredis': { label: 'redsem (ioredis)', ...ioredis },
  'redis-semaphore': {
    label: 'redis-semaphore',
    ...other,
    load: () => import('./redis-semaphore.js'),
    plainCommands: ['zrem'],
  },
  redlock: { label: 'redlock 5 beta', ...other, load: () => import('./redlock.js'), maxLimit: 1 },
  bottleneck: {
    label: 'bottleneck',
    ...other,
    load: () => import('./bottleneck.js'),
    extends: false,
  },
  polling: { label: 'polling', ...other, load: () => import('./polling.js') },
  'floor-node-redis': { label: 'floor (node-redis)', ...bare, load: floor('connectNodeRedis') },
  'floor-ioredis': { label: 'floor (ioredis)', ...bare, load: floor('connectIoredis') },
  'redsem-memory': {
    label: 'redsem (in memory)',
    ...nodeRedis,
    load: redsem('connectMemory'),
  },
  'redsem-kept': {
    label: 'redsem (ioredis), with a keeper',
    ...ioredis,
    load: redsem('connectKept'),
  },
  'telemetry-removed': {
    label: 'telemetry left out',
    ...nodeRedis,
    kind: 'floor',
    build: 'without-telemetry',
  },
  'telemetry-unheard': { label: 'no subscriber', ...nodeRedis },
  'telemetry-heard': { label: 'all channels heard', ...nodeRedis, load: redsem('connectHeard') },
} as const satisfies Record<string, Entry>;

type WorkerId = keyof typeof catalog;

export type PeerId = WorkerId | (typeof programs)[number]['id'];

export type Peer = Required<Entry> & { readonly id: WorkerId };

/** A row of a table. */
export interface Named {
  readonly id: PeerId;
  readonly label: string;
}

export function peerOf(id: WorkerId): Peer {
  const usual = { maxLimit: Infinity, extends: true, plainCommands: [], build: 'whole' } as const;
  return { ...usual, id, ...catalog[id] };
}

const [named, floors, measured] = [
  ['redsem-node-redis', 'redsem-ioredis', 'redis-semaphore', 'redlock', 'bottleneck', 'polling'],
  ['floor-node-redis', 'floor-ioredis'],
  ['telemetry-removed', 'telemetry-unheard', 'telemetry-heard'],
] as const;

/** All peers that limit permits, without the floors. */
export const semaphores: readonly Peer[] = named.map(peerOf);
export const peers: readonly Peer[] = [...semaphores, ...floors.map(peerOf)];
/** redsem without a server. */
export const embedded: Peer = peerOf('redsem-memory');
/** redsem with a keeper: a separate thread renews the permits. */
export const kept: Peer = peerOf('redsem-kept');
/** redsem with and without a listener on its channels, and the floor of both. */
export const telemetryPeers: readonly Peer[] = measured.map(peerOf);

/** The command line, which a shell starts and no worker. */
export const programs = [
  { id: 'start-node', label: 'node -e 0' },
  { id: 'start-ioredis', label: 'redsem run (ioredis)' },
  { id: 'start-node-redis', label: 'redsem run (node-redis)' },
] as const;

/** Whether its scripts are redsem's: with telemetry or without. */
export function isRedsem({ kind, id }: Peer): boolean {
  return kind === 'redsem' || id === 'telemetry-removed';
}

/** In the order of the reports. */
export const peerIds: readonly PeerId[] = [
  ...[...peers, embedded, kept, ...telemetryPeers].map(({ id }) => id),
  ...programs.map(({ id }) => id),
];
