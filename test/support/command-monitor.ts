import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Redis } from 'ioredis';

import type { TestServer } from './redis-server.js';

export type CommandMonitor = Awaited<ReturnType<typeof startMonitor>>;

/** The commands of clients themselves, as the server shows them, without the calls of scripts. */
export async function startMonitor(server: TestServer) {
  const client = new Redis(server.port, '127.0.0.1', { retryStrategy: () => null });
  const monitor = await client.monitor();
  const seen: string[][] = [];
  monitor.on('monitor', (_time: string, command: string[], source: string) => {
    if (source !== 'lua') seen.push(command);
  });

  /** All commands since the last look, in lower case, without the commands of the monitor. */
  async function names(): Promise<string[]> {
    const mark = randomUUID();
    await client.echo(mark);
    // The server shows commands in the order of execution: all before the mark are there.
    while (!seen.some(([, word]) => word === mark)) await once(monitor, 'monitor');
    const all = seen.splice(0).map(([name = '']) => name.toLowerCase());
    return all.filter((name) => name !== 'echo');
  }

  await names();
  const stop = (): void => [client, monitor].forEach((each) => each.disconnect());
  return { names, stop };
}
