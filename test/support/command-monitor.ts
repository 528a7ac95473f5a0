import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';

import type { TestServer } from './redis-server.js';

/**
 * What clients themselves send, command by command, as the server's MONITOR shows them; what
 * scripts call is left out.
 */
export async function startMonitor(server: TestServer): Promise<CommandMonitor> {
  const socket = createConnection({ host: '127.0.0.1', port: server.port, noDelay: true });
  const monitor = new CommandMonitor(server, socket);
  socket.write('MONITOR\r\n');
  await monitor.commands();
  return monitor;
}

export class CommandMonitor {
  readonly #server: TestServer;
  readonly #socket: Socket;
  #text = '';

  constructor(server: TestServer, socket: Socket) {
    this.#server = server;
    this.#socket = socket;
    socket.setEncoding('utf8').on('data', (text: string) => {
      this.#text += text;
    });
  }

  /**
   * All commands since the last look, without the looks of the test itself: names in lower case,
   * arguments in quotes.
   */
  async commands(): Promise<{ readonly name: string; readonly rest: string }[]> {
    const mark = randomUUID();
    // Commands are shown in the order in which they are executed: once the mark is there, so is all
    // before it.
    while (!this.#text.includes(mark)) {
      await this.#server.command('ECHO', mark);
      if (!this.#text.includes(mark)) await once(this.#socket, 'data');
    }
    const lines = this.#text.matchAll(/^\+[\d.]+ \[\d+ ([^\]]+)\] "([^"]+)"(.*)\r$/gm);
    this.#text = '';
    return [...lines]
      .map(([, client, name = '', rest = '']) => ({ client, name: name.toLowerCase(), rest }))
      .filter(({ client, name }) => client !== 'lua' && name !== 'echo');
  }

  /** The names of all commands since the last look. */
  async names(): Promise<string[]> {
    return (await this.commands()).map(({ name }) => name);
  }

  stop(): void {
    this.#socket.destroy();
  }
}
