import { Redis } from 'ioredis';
import { createClient } from 'redis';

import { leastRights } from '../../../test/support/least-rights.js';
import type { TlsServer } from '../../../test/support/tls-server.js';
import type { Row } from '../../../test/conformance/row.js';
import type { Connected } from '../../../test/conformance/rows/server-row.js';
import { topologyRow } from './topology-row.js';

const PASSWORD = 'a long secret';
const LIMITED = { username: 'limited', password: PASSWORD };

interface Login {
  readonly username?: string;
  readonly password: string;
}

/** Errors of a connection that is closed are expected: only calls that fail are looked at. */
function ignore(): void {}

/** From now on nobody does anything without that password; one user has no more than the least rights. */
export async function secure({ server }: TlsServer): Promise<void> {
  const rights = ['resetchannels', '-@all', ...leastRights];
  await server.command('ACL', 'SETUSER', LIMITED.username, 'on', `>${PASSWORD}`, ...rights);
  await server.command('CONFIG', 'SET', 'requirepass', PASSWORD);
}

export function securedRows(tls: () => TlsServer): Row[] {
  const command = (...args: string[]): Promise<unknown> => commandOverTls(tls(), args);
  const server = () => ({ command });
  const [withPassword, limited] = [{ password: PASSWORD }, LIMITED];
  const nodeRedis = (login: Login) => () => nodeRedisOverTls(tls(), login);
  const ioredis = (login: Login) => () => ioredisOverTls(tls(), login);
  return [
    topologyRow('redis 6 over TLS with a password', server, nodeRedis(withPassword)),
    topologyRow('redis 6 over TLS with the least rights', server, nodeRedis(limited)),
    topologyRow('ioredis 5 over TLS with a password', server, ioredis(withPassword)),
    topologyRow('ioredis 5 over TLS with the least rights', server, ioredis(limited)),
  ];
}

async function nodeRedisOverTls({ port, tls }: TlsServer, login: Login) {
  const socket = { host: '127.0.0.1', port, tls: true as const, ...tls };
  const target = createClient({ socket, ...login }).on('error', ignore);
  await target.connect();
  return { target, close: () => target.destroy() };
}

async function ioredisOverTls({ port, tls }: TlsServer, login: Login): Promise<Connected> {
  // The ready check wants INFO, and says so aloud when the user may not.
  const options = { lazyConnect: true, enableReadyCheck: login.username === undefined };
  const target = new Redis({ host: '127.0.0.1', port, tls, ...options, ...login });
  target.on('error', ignore);
  await target.connect();
  return { target, close: () => target.disconnect() };
}

/** A command of the tests' own, as the user who may do all. */
async function commandOverTls(server: TlsServer, args: readonly string[]): Promise<unknown> {
  const { target, close } = await nodeRedisOverTls(server, { password: PASSWORD });
  try {
    return await target.sendCommand([...args]);
  } finally {
    close();
  }
}
