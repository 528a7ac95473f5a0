import { createClient } from 'redis';

export interface ServerFacts {
  /** As in `redis-server 7.0.15`. */
  readonly name: string;
  readonly pid: number;
}

/**
 * One connection, one question. Rejects when there is no answer within the timeout, in
 * milliseconds.
 */
export async function askServer(url: string, within: number): Promise<ServerFacts> {
  const client = createClient({
    url,
    socket: { connectTimeout: within, reconnectStrategy: false },
  });
  // Without a listener a lost connection would end this process; the caller sees the rejection.
  client.on('error', () => {});
  const silence = setTimeout(() => client.isOpen && client.destroy(), within);
  try {
    await client.connect();
    return factsOf(await client.info('server'));
  } finally {
    clearTimeout(silence);
    if (client.isOpen) client.destroy();
  }
}

function factsOf(info: string): ServerFacts {
  const field = (name: string): string | undefined =>
    new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1];
  const valkey = field('valkey_version');
  const name =
    valkey === undefined
      ? `redis-server ${field('redis_version') ?? ''}`
      : `valkey-server ${valkey}`;
  return { name: name.trim(), pid: Number(field('process_id') ?? -1) };
}
