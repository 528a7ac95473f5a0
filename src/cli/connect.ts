import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type ClientAdapter, ioredisAdapter, nodeRedisAdapter, type Server } from './clients.js';
import type { ClientPackage, ServerSettings } from './server-options.js';
import { CLIENT_PACKAGES, showAddress } from './server-options.js';
import { attempt, describe, EXIT, Failure, isTimeout } from './failure.js';
import { CONNECT_TIME, withTimeout } from './with-timeout.js';

const ADAPTERS = { redis: nodeRedisAdapter, ioredis: ioredisAdapter };

/**
 * Connects. A server that cannot be reached now is an error at once. When a server goes away later,
 * the client connects again.
 * @param deadline the longest time in milliseconds, also on a busy machine
 * @throws {Failure}
 */
export async function connect(
  settings: ServerSettings,
  deadline: number = Infinity,
  adapter: ClientAdapter = loadClient(settings.client),
): Promise<Server> {
  let isOver = false;
  const tried: Server[] = [];
  // The first error of the try: it causes the later errors.
  let lastError: unknown;
  // Tries with a new client after each client that ran out of time: a client's own time limit does
  // not allow for a busy machine.
  const connecting = async (): Promise<Server> => {
    for (;;) {
      let isReady = false;
      lastError = undefined;
      const onError = (error: unknown): void => void (lastError ??= error);
      const client = adapter({ settings, ready: () => isReady, onError });
      tried.push(client);
      try {
        await client.connect();
        isReady = true;
        return client;
      } catch (error) {
        onError(error);
        if (isOver || !isTimeout(lastError)) throw error;
        client.disconnect();
      }
    }
  };
  try {
    return await withTimeout(CONNECT_TIME, 'connecting', connecting(), deadline);
  } catch (error) {
    isOver = true;
    tried.at(-1)?.disconnect();
    const where = settings.addresses.map(showAddress).join(', ');
    const why = describe(lastError ?? error);
    // A server of another protocol may wait for a whole line without an answer.
    const isSilent = settings.tls !== undefined && lastError === undefined;
    const hint = isSilent ? ' (is it a TLS port?)' : loginHint(why);
    throw new Failure(EXIT.unavailable, `cannot connect to ${where}: ${why}${hint}`, error);
  }
}

function loginHint(why: string): string {
  if (/\bWRONGPASS\b/.test(why)) return '; check user and password in --url or $REDIS_URL';
  return /\bNOAUTH\b/.test(why) ? '; put user and password into --url or $REDIS_URL' : '';
}

/** Loads the wanted client package, else the first package that is installed. */
function loadClient(wanted: ClientPackage | undefined): ClientAdapter {
  for (const name of wanted === undefined ? CLIENT_PACKAGES : [wanted]) {
    for (const load of loaders()) {
      const isFound = attempt(() => load.resolve(name)) !== undefined;
      if (isFound) return ADAPTERS[name](load(name) as unknown);
    }
  }
  const needed = wanted ?? 'ioredis, or: npm install redis';
  const none = wanted === undefined ? 'neither redis nor ioredis is' : `${wanted} is not`;
  throw new Failure(EXIT.unavailable, `${none} installed beside redsem: npm install ${needed}`);
}

/** npx may run redsem from a separate folder; the client is then in the current project. */
function loaders(): NodeJS.Require[] {
  const beside = createRequire(import.meta.url);
  const isNpx = process.env['npm_command'] === 'exec';
  return isNpx ? [beside, createRequire(join(process.cwd(), 'package.json'))] : [beside];
}
