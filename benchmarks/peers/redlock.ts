import Redlock from 'redlock';

import type { Connection } from './adapter.js';
import { openIoredis } from './ioredis-client.js';

/**
 * On one server, through `using`, which keeps a lock alive. By default it gives up after 10
 * retries; here it does not. All other options have their defaults.
 */
export async function connect(url: string): Promise<Connection> {
  const client = await openIoredis(url);
  const redlock = new Redlock([client]);
  // It emits an error each time it finds a lock taken.
  redlock.on('error', () => undefined);
  return {
    acquire: (name, _limit, ttl) =>
      new Promise((resolve, reject) => {
        const hold = (signal: AbortSignal): Promise<boolean> =>
          new Promise((finish) => {
            resolve(() => {
              finish(!signal.aborted);
              return used.catch(() => false);
            });
          });
        const used = redlock.using([name], ttl, { retryCount: -1 }, hold);
        used.catch(reject);
      }),
    close: async () => client.disconnect(),
  };
}
