import { createConnection } from 'node:net';
import { clearTimeout, setTimeout } from 'node:timers';

import { parseReply, RespError } from './resp-parser.js';

const replyTimeout = 10_000;

/**
 * Sends one command over a connection of its own and gives the parsed reply; an error reply rejects.
 * The timers are the module's, which fake clocks leave alone.
 */
export function sendRespCommand(port: number, args: readonly string[]): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: '127.0.0.1', port, noDelay: true });
    let received = Buffer.alloc(0);
    const settle = (action: () => void): void => {
      clearTimeout(timer);
      socket.destroy();
      action();
    };
    const fail = (problem: string): void => {
      settle(() => reject(new Error(`${args[0] ?? ''} to port ${port}: ${problem}`)));
    };
    const timer = setTimeout(() => fail(`no reply within ${replyTimeout} ms`), replyTimeout);
    socket.on('connect', () => socket.write(encode(args)));
    socket.on('error', (error) => fail(error.message));
    socket.on('end', () => fail('the connection ended before the reply'));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      const reply = parseReply(received);
      if (reply === undefined) return;
      const { value } = reply;
      settle(() => (value instanceof RespError ? reject(value) : resolve(value)));
    });
  });
}

function encode(args: readonly string[]): string {
  const parts = args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`);
  return `*${args.length}\r\n${parts.join('')}`;
}
