import type { Connection } from './adapter.js';
import { openIoredis } from './ioredis-client.js';

/**
 * Two bare EVALSHA of a one-line script: no pair of script calls through this client can be faster.
 */
export async function connect(url: string): Promise<Connection> {
  const client = await openIoredis(url);
  const sha1 = String(await client.script('LOAD', 'return 1'));
  const call = async (name: string): Promise<boolean> =>
    (await client.evalsha(sha1, 1, name)) === 1;
  return {
    acquire: async (name) => {
      await call(name);
      return () => call(name);
    },
    close: async () => client.disconnect(),
  };
}
