// Two EVALSHA of a script of one line. No pair of script calls through that client can be faster.
import { createClient } from 'redis';

import type { Connection } from './adapter.js';
import { openIoredis } from './ioredis-client.js';

const SCRIPT = 'return 1';

export async function connectIoredis(url: string): Promise<Connection> {
  const client = await openIoredis(url);
  const sha1 = String(await client.script('LOAD', SCRIPT));
  const call = async (name: string): Promise<boolean> =>
    (await client.evalsha(sha1, 1, name)) === 1;
  return twoCalls(call, async () => client.disconnect());
}

export async function connectNodeRedis(url: string): Promise<Connection> {
  const client = await createClient({ url }).connect();
  const sha1 = await client.scriptLoad(SCRIPT);
  const call = async (name: string): Promise<boolean> =>
    (await client.evalSha(sha1, { keys: [name] })) === 1;
  return twoCalls(call, async () => client.destroy());
}

function twoCalls(
  call: (name: string) => Promise<boolean>,
  close: () => Promise<void>,
): Connection {
  const acquire: Connection['acquire'] = async (name) => {
    await call(name);
    return () => call(name);
  };
  return { acquire, close };
}
