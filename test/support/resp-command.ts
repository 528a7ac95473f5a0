import { createConnection } from 'node:net';
import { clearTimeout, setTimeout } from 'node:timers';

import { parseReply, RespError } from './resp-parser.js';

const PATIENCE = 10_000;

/**
 * Sends one command over a connection of its own and gives the parsed reply; an error reply rejects.
 * The timers are the module's, which fake clocks leave alone.
 */
export function sendRespCommand(port: number, args: readonly string[]): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: '127.0.0.1', port, noDelay: true });
    let received = Buffer.alloc(0);
    const fail = (problem: string): void => {
      socket.destroy(new Error(`${args[0] ?? ''} to port ${port}: ${problem}`));
    };
    const timer = setTimeout(() => fail(`no reply within ${PATIENCE} ms`), PATIENCE);
    const parts = args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`);
    socket.write(`*${args.length}\r\n${parts.join('')}`);
    socket.on('error', reject);
    socket.on('close', () => clearTimeout(timer));
    socket.on('end', () => fail('the connection ended before the reply'));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      const reply = parseReply(received);
      if (reply === undefined) return;
      if (reply.value instanceof RespError) reject(reply.value);
      else resolve(reply.value);
      socket.destroy();
    });
  });
}
