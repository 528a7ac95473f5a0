import { createClient } from 'redis';

/**
 * What a server is, as in `redis-server 7.0.15`. Rejects when there is no answer within the
 * timeout, in milliseconds.
 */
export async function askServer(url: string, within: number): Promise<string> {
  const client = createClient({
    url,
    socket: { connectTimeout: within, reconnectStrategy: false },
  });
  // Without a listener a lost connection would end this process; the caller sees the rejection.
  client.on('error', () => {});
  const silence = setTimeout(() => client.isOpen && client.destroy(), within);
  try {
    await client.connect();
    return nameIn(await client.info('server'));
  } finally {
    clearTimeout(silence);
    if (client.isOpen) client.destroy();
  }
}

function nameIn(info: string): string {
  const [, kind = 'redis', version = ''] =
    /^(valkey)_version:(\S+)/m.exec(info) ?? /^(redis)_version:(\S+)/m.exec(info) ?? [];
  return `${kind}-server ${version}`.trim();
}
