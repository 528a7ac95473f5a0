import { Redis } from 'ioredis';
import { createClient } from 'redis';

import { leastRights } from '../../../test/support/least-rights.js';
import type { TlsServer } from '../../../test/support/tls-server.js';
import type { Row } from '../../../test/conformance/row.js';
import { connected, redisRow } from '../../../test/conformance/rows/redis-row.js';

const ALL = { password: 'a long secret' };
const LIMITED = { username: 'limited', ...ALL };
type Login = typeof ALL | typeof LIMITED;

/** From now on nobody does anything without that password; one user has no more than the least rights. */
export async function secure({ server }: TlsServer): Promise<void> {
  const rights = ['resetchannels', '-@all', ...leastRights];
  await server.command('ACL', 'SETUSER', LIMITED.username, 'on', `>${ALL.password}`, ...rights);
  await server.command('CONFIG', 'SET', 'requirepass', ALL.password);
}

export function securedRows(tls: () => TlsServer): Row[] {
  const redis = () => ({ command: (...args: string[]) => commandOverTls(tls(), args) });
  const nodeRedis = (login: Login) => () => connected(nodeRedisOverTls(tls(), login));
  const ioredis = (login: Login) => () => connected(ioredisOverTls(tls(), login));
  return [
    redisRow('redis 6 over TLS with a password', redis, nodeRedis(ALL)),
    redisRow('redis 6 over TLS with the least rights', redis, nodeRedis(LIMITED)),
    redisRow('ioredis 5 over TLS with a password', redis, ioredis(ALL)),
    redisRow('ioredis 5 over TLS with the least rights', redis, ioredis(LIMITED)),
  ].map((row) => ({ ...row, lacks: { server: 'its commands go over TLS' } }));
}

function nodeRedisOverTls({ port, tls }: TlsServer, login: Login) {
  return createClient({
    socket: { host: '127.0.0.1', port, tls: true as const, ...tls },
    ...login,
  });
}

function ioredisOverTls({ port, tls }: TlsServer, login: Login): Redis {
  // The ready check wants INFO, and says so aloud when the user may not.
  const options = { lazyConnect: true, enableReadyCheck: login === ALL };
  return new Redis({ host: '127.0.0.1', port, tls, ...options, ...login });
}

/** A command of the tests, as the user who may do all. */
async function commandOverTls(server: TlsServer, args: readonly string[]): Promise<unknown> {
  const client = nodeRedisOverTls(server, ALL);
  const { close } = await connected(client);
  try {
    return await client.sendCommand([...args]);
  } finally {
    await close();
  }
}
