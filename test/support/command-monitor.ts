import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';

import { eventually } from './eventually.js';
import type { TestServer } from './redis-server.js';

interface Command {
  /** In lower case. */
  readonly name: string;
  readonly rest: string;
}

export type CommandMonitor = Awaited<ReturnType<typeof startMonitor>>;

/**
 * What clients themselves send, command by command, as the server's MONITOR shows them; what
 * scripts call is left out.
 */
export async function startMonitor(server: TestServer) {
  const client = new Redis(server.port, '127.0.0.1');
  const monitor = await client.monitor();
  let seen: Command[] = [];
  monitor.on('monitor', (_: string, [name = '', ...rest]: string[], source: string) => {
    if (source !== 'lua') seen.push({ name: name.toLowerCase(), rest: rest.join(' ') });
  });
  /** All since the last look, without the looks of the test itself. */
  const commands = async (): Promise<readonly Command[]> => {
    const mark = randomUUID();
    await server.command('ECHO', mark);
    // Shown in the order in which they are executed: with the mark, all before it is there.
    await eventually(() => seen.some(({ rest }) => rest === mark));
    const found = seen.filter(({ name }) => name !== 'echo');
    seen = [];
    return found;
  };
  const names = async () => (await commands()).map(({ name }) => name);
  const stop = () => [client, monitor].forEach((each) => each.disconnect());
  await commands();
  return { commands, names, stop };
}
