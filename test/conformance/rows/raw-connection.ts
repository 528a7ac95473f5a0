import type { Socket } from 'node:net';
import { createConnection } from 'node:net';

import type { RedisConnection } from '../../../src/index.js';
import { parseReply, RespError } from '../../support/resp-parser.js';

interface Pending {
  resolve(reply: unknown): void;
  reject(error: Error): void;
}

/**
 * The smallest thing that a semaphore can stand on: one socket, two methods. What was in flight when the socket
 * closed is rejected; the next command opens another.
 */
export class RawConnection implements RedisConnection {
  readonly #port: number;
  #socket: Socket | undefined;
  #pending: Pending[] = [];

  constructor(port: number) {
    this.#port = port;
  }

  runBySha(sha1: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#send(['EVALSHA', sha1, String(keys.length), ...keys, ...args]);
  }

  runByText(text: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#send(['EVAL', text, String(keys.length), ...keys, ...args]);
  }

  close(): void {
    this.#socket?.destroy();
  }

  #send(args: readonly string[]): Promise<unknown> {
    const socket = (this.#socket ??= this.#open());
    return new Promise((resolve, reject) => {
      this.#pending.push({ resolve, reject });
      const parts = args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`);
      socket.write(`*${args.length}\r\n${parts.join('')}`);
    });
  }

  #open(): Socket {
    const socket = createConnection({ host: '127.0.0.1', port: this.#port, noDelay: true });
    let received: Buffer = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      received = this.#take(Buffer.concat([received, chunk]));
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#socket = undefined;
      const closed = new Error('the socket was closed');
      for (const pending of this.#pending.splice(0)) pending.reject(closed);
    });
    return socket;
  }

  /** Settles commands in their order, one for each whole reply; gives what is left. */
  #take(received: Buffer): Buffer {
    let start = 0;
    for (;;) {
      const reply = parseReply(received, start);
      if (reply === undefined) return received.subarray(start);
      start = reply.end;
      const pending = this.#pending.shift();
      if (reply.value instanceof RespError) pending?.reject(reply.value);
      else pending?.resolve(reply.value);
    }
  }
}
