import type { Ability } from './row.js';

/**
 * Everything that a row cannot do, and why: the one place. The cases that need it are left out of that row when
 * they are defined, its title says so, and `rows.test.ts` fails when no row with a real server runs them.
 */
const LIMITS: Record<string, Partial<Record<Ability, string>>> = {
  memory: {
    keys: 'it has no keys',
    'server errors': 'it has no commands that fail',
    server: 'it has no server',
  },
  'ioredis-mock': {
    'server errors': 'it replaces the text of what failed inside a script by its own',
    server: 'it has no server process',
  },
  'createClientPool of redis 6': { push: 'a pool cannot subscribe' },
  'a RedisConnection of two methods': { push: 'it has no method to subscribe' },
};

export function limitsOf(title: string): Partial<Record<Ability, string>> {
  return LIMITS[title] ?? {};
}
