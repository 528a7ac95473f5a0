import { loadClient } from './clients/load-client.js';
import type { ServerSettings } from './common-options.js';
import { describe, isTimeout, UnavailableError } from './failure.js';
import { CONNECT_TIME, withTimeout } from './with-timeout.js';
import type { ClientAdapter, Server } from './server.js';
import { showAddress } from './server-url.js';

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
  return connectBy(await loadClient(settings.client), settings, deadline);
}

export async function connectBy(
  adapter: ClientAdapter,
  settings: ServerSettings,
  deadline: number,
): Promise<Server> {
  const attempts = new Attempts(adapter, settings);
  try {
    return await withTimeout(CONNECT_TIME, 'connecting', attempts.first(), deadline);
  } catch (error) {
    const { lastError } = attempts;
    attempts.giveUp();
    const where = settings.addresses.map(showAddress).join(', ');
    const why = describe(lastError ?? error);
    // A server of another protocol may wait for a whole line and say nothing.
    const isSilent = settings.tls !== undefined && lastError === undefined;
    const hint = isSilent ? ' (is it a TLS port?)' : loginHint(why);
    throw new UnavailableError(`cannot connect to ${where}: ${why}${hint}`, error);
  }
}

function loginHint(why: string): string {
  if (/\bWRONGPASS\b/.test(why)) return '; check user and password in --url or $REDIS_URL';
  return /\bNOAUTH\b/.test(why) ? '; put user and password into --url or $REDIS_URL' : '';
}

/**
 * Tries with one client after the other, for as long as they only find that time is over: a
 * client's own limit knows no busy machine.
 */
class Attempts {
  readonly #adapter: ClientAdapter;
  readonly #settings: ServerSettings;
  #current: Server | undefined;
  #ready = false;
  #over = false;
  /** For a failed `connect` does not always name the cause. */
  lastError: unknown;

  constructor(adapter: ClientAdapter, settings: ServerSettings) {
    this.#adapter = adapter;
    this.#settings = settings;
  }

  async first(): Promise<Server> {
    for (;;) {
      try {
        return await this.#next();
      } catch (error) {
        this.lastError ??= error;
        if (this.#over || !isTimeout(this.lastError)) throw error;
        this.#current?.disconnect();
      }
    }
  }

  giveUp(): void {
    this.#over = true;
    this.#current?.disconnect();
  }

  async #next(): Promise<Server> {
    this.lastError = undefined;
    const client = this.#adapter.create({
      settings: this.#settings,
      ready: () => this.#ready,
      // The first is the reason of those that follow.
      onError: (error) => {
        this.lastError ??= error;
      },
    });
    this.#current = client.server;
    await client.connect();
    this.#ready = true;
    return client.server;
  }
}
