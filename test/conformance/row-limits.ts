import type { Ability } from './row.js';

const SEVERAL_SERVERS = {
  server: 'it has several, whose failures are cases of verification/topologies',
};

const QUORUM: Partial<Record<Ability, string>> = {
  keys: 'they stand on several servers',
  push: 'nobody hands permits on, so nothing is pushed',
  'server errors': 'several servers say why, see verification/quorum',
  server: SEVERAL_SERVERS.server,
};

/** On a real clock, outside `npm run verify`. */
export const NO_TIME: Partial<Record<Ability, string>> = { time: 'npm run verify' };

const MEMORY: Partial<Record<Ability, string>> = {
  keys: 'it has no keys',
  'server errors': 'it has no commands that fail',
  server: 'it has no server',
};

/**
 * Everything that a row cannot do, and why: the one place. The cases that need it are left out of that row when
 * they are defined, its title says so, and `rows.test.ts` fails when no row with a real server runs them.
 */
const LIMITS: Record<string, Partial<Record<Ability, string>>> = {
  memory: MEMORY,
  'memory with a manual clock': MEMORY,
  'ioredis-mock': {
    'server errors': 'it replaces the text of what failed inside a script by its own',
    server: 'it has no server process',
  },
  'createClientPool of redis 6': { push: 'a pool cannot subscribe' },
  'a RedisConnection of two methods': { push: 'it has no method to subscribe' },
  'createCluster of redis 6': SEVERAL_SERVERS,
  'Cluster of ioredis 5': SEVERAL_SERVERS,
  'createSentinel of redis 6': SEVERAL_SERVERS,
  'ioredis 5 with sentinels': SEVERAL_SERVERS,
  'a quorum of three over redis': QUORUM,
  'a quorum of three over ioredis': QUORUM,
};

export function limitsOf(title: string): Partial<Record<Ability, string>> {
  return LIMITS[title] ?? {};
}
