import { loadClient } from './clients/load-client.js';
import type { ServerSettings } from './common-options.js';
import { describe, UnavailableError } from './failure.js';
import { CONNECT_TIME, within } from './patience.js';
import type { Server } from './server.js';
import { showAddress } from './server-url.js';

/**
 * Connects. A server that cannot be reached now is an error at once; one that goes away later is waited for.
 * @throws {UnavailableError}
 */
export async function connect(settings: ServerSettings): Promise<Server> {
  let ready = false;
  let last: unknown;
  const client = loadClient(settings.client).create({
    settings,
    ready: () => ready,
    onError: (error) => {
      last = error;
    },
  });
  const where = settings.addresses.map(showAddress).join(', ');
  try {
    await within(CONNECT_TIME, 'connecting', client.connect());
  } catch (error) {
    client.server.disconnect();
    throw new UnavailableError(`cannot connect to ${where}: ${describe(last ?? error)}`, error);
  }
  ready = true;
  return client.server;
}
