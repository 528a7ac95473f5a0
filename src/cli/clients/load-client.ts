import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { ClientPackage } from '../common-options.js';
import { CLIENT_PACKAGES } from '../common-options.js';
import { UnavailableError } from '../failure.js';
import type { ClientAdapter } from '../server.js';
import { ioredisAdapter } from './ioredis.js';
import { nodeRedisAdapter } from './node-redis.js';

const ADAPTERS = { redis: nodeRedisAdapter, ioredis: ioredisAdapter };

/** Loads the client package that is asked for, else the first that is installed. */
export function loadClient(wanted: ClientPackage | undefined): ClientAdapter {
  for (const name of wanted === undefined ? CLIENT_PACKAGES : [wanted]) {
    for (const load of loaders()) {
      if (canResolve(load, name)) return ADAPTERS[name](load(name) as unknown);
    }
  }
  const needed = wanted ?? 'ioredis, or: npm install redis';
  const none = wanted === undefined ? 'neither redis nor ioredis is' : `${wanted} is not`;
  throw new UnavailableError(`${none} installed beside redsem: npm install ${needed}`);
}

/**
 * npx may have put redsem into a separate folder; the client is then in the project where npx was
 * called.
 */
function loaders(): NodeJS.Require[] {
  const beside = createRequire(import.meta.url);
  const isNpx = process.env['npm_command'] === 'exec';
  return isNpx ? [beside, createRequire(join(process.cwd(), 'package.json'))] : [beside];
}

function canResolve(load: NodeJS.Require, name: string): boolean {
  try {
    load.resolve(name);
    return true;
  } catch {
    return false;
  }
}
