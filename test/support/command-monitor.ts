import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createConnection } from 'node:net';

import type { TestServer } from './redis-server.js';

export type CommandMonitor = Awaited<ReturnType<typeof startMonitor>>;

/**
 * What clients themselves send, command by command, as the server's MONITOR shows them; what
 * scripts call is left out.
 */
export async function startMonitor(server: TestServer) {
  const socket = createConnection({ host: '127.0.0.1', port: server.port, noDelay: true });
  let text = '';
  socket.setEncoding('utf8').on('data', (more: string) => (text += more));

  /** All commands since the last look, in lower case, but for the test's own. */
  async function names(): Promise<string[]> {
    const mark = randomUUID();
    // Commands are shown in the order in which they are executed: once the mark is there, so is all
    // before it.
    while (!text.includes(mark)) {
      await server.command('ECHO', mark);
      if (!text.includes(mark)) await once(socket, 'data');
    }
    const lines = [...text.matchAll(/^\+[\d.]+ \[\d+ ([^\]]+)\] "([^"]+)".*\r$/gm)];
    text = '';
    return lines
      .filter(([, client]) => client !== 'lua')
      .map(([, , name = '']) => name.toLowerCase())
      .filter((name) => name !== 'echo');
  }

  socket.write('MONITOR\r\n');
  await names();
  return { names, stop: () => void socket.destroy() };
}
