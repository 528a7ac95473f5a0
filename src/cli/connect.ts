import { loadClient } from './clients/load-client.js';
import type { ServerSettings } from './common-options.js';
import { describe, isTimeout, UnavailableError } from './failure.js';
import type { ClientAdapter, Server } from './server.js';
import { showAddress } from './server-url.js';
import { CONNECT_TIME, withTimeout } from './with-timeout.js';

/**
 * Connects. A server that cannot be reached now is an error at once; one that goes away later is
 * waited for.
 * @param deadline milliseconds that it may take at most, however busy the machine is
 * @throws {UnavailableError}
 */
export async function connect(
  settings: ServerSettings,
  deadline: number = Infinity,
): Promise<Server> {
  return connectBy(loadClient(settings.client), settings, deadline);
}

export async function connectBy(
  adapter: ClientAdapter,
  settings: ServerSettings,
  deadline: number,
): Promise<Server> {
  const tries: Tries = { over: false };
  try {
    const connecting = connectOneByOne(adapter, settings, tries);
    return await withTimeout(CONNECT_TIME, 'connecting', connecting, deadline);
  } catch (error) {
    tries.over = true;
    tries.current?.disconnect();
    const where = settings.addresses.map(showAddress).join(', ');
    const why = describe(tries.lastError ?? error);
    // A server of another protocol may wait for a whole line and say nothing.
    const isSilent = settings.tls !== undefined && tries.lastError === undefined;
    const hint = isSilent ? ' (is it a TLS port?)' : loginHint(why);
    throw new UnavailableError(`cannot connect to ${where}: ${why}${hint}`, error);
  }
}

function loginHint(why: string): string {
  if (/\bWRONGPASS\b/.test(why)) return '; check user and password in --url or $REDIS_URL';
  return /\bNOAUTH\b/.test(why) ? '; put user and password into --url or $REDIS_URL' : '';
}

interface Tries {
  over: boolean;
  current?: Server;
  /** The first error of the try, which is the cause of those that follow. */
  lastError?: unknown;
}

/**
 * Tries with one client after the other, for as long as they only find that time is over: a
 * client's own limit knows no busy machine.
 */
async function connectOneByOne(
  adapter: ClientAdapter,
  settings: ServerSettings,
  tries: Tries,
): Promise<Server> {
  for (;;) {
    let isReady = false;
    const onError = (error: unknown): void => {
      tries.lastError ??= error;
    };
    tries.lastError = undefined;
    const client = adapter({ settings, ready: () => isReady, onError });
    tries.current = client;
    try {
      await client.connect();
      isReady = true;
      return client;
    } catch (error) {
      onError(error);
      if (tries.over || !isTimeout(tries.lastError)) throw error;
      client.disconnect();
    }
  }
}
