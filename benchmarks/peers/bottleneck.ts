import Bottleneck from 'bottleneck';

import type { Connection } from './adapter.js';
import { openIoredis } from './ioredis-client.js';

/** One limiter for each name, all on one connection; the job lasts until the permit is released. */
export async function connect(url: string): Promise<Connection> {
  const client = await openIoredis(url);
  const connection = new Bottleneck.IORedisConnection({ client });
  const limiters = new Map<string, Bottleneck>();
  const limiterOf = (id: string, maxConcurrent: number): Bottleneck => {
    const limiter =
      limiters.get(id) ?? new Bottleneck({ id, maxConcurrent, datastore: 'ioredis', connection });
    limiters.set(id, limiter);
    return limiter;
  };
  return {
    acquire: (name, limit, ttl) =>
      new Promise((resolve, reject) => {
        const hold = (): Promise<void> =>
          new Promise((finish) => {
            resolve(() => {
              finish();
              return done.then(
                () => true,
                () => false,
              );
            });
          });
        // Without an expiration the permit of a process that died would never come back.
        const done = limiterOf(name, limit).schedule({ expiration: ttl }, hold);
        done.catch(reject);
      }),
    close: () => connection.disconnect(false),
  };
}
