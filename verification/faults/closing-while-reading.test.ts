import { expect } from 'chai';
import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { createClient as createClient4 } from 'redis-4';

import { nodeRedisConnection } from '../../src/redis/adapters/node-redis.js';

const CHANNEL = 'redsem:inbox:a';

function bulk(...texts: string[]): string {
  return texts.map((text) => `$${text.length}\r\n${text}\r\n`).join('');
}

/** A server that confirms a subscription and pushes two messages in one packet. */
function packetServer(): Server {
  const packet =
    `*3\r\n${bulk('subscribe', CHANNEL)}:1\r\n` +
    `*3\r\n${bulk('message', CHANNEL, 'one')}`.repeat(2);
  return createServer((socket: Socket) => {
    socket.on('error', () => {});
    socket.on('data', (data) => {
      const commands = data.toString().match(/\*\d+\r\n/g)?.length ?? 0;
      socket.write(data.includes('subscribe') ? packet : '+OK\r\n'.repeat(commands));
    });
  });
}

describe('a subscription of redis 4 that is closed by what it reads', () => {
  let server: Server;

  beforeEach(async () => {
    server = packetServer();
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  });

  afterEach(() => void server.close());

  it('ends, and the rest of the packet ends nothing else', async () => {
    const { port } = server.address() as AddressInfo;
    const client = createClient4({ url: `redis://127.0.0.1:${port}` });
    client.on('error', () => {});
    await client.connect();
    const read: string[] = [];
    const ended = new Promise<void>((resolve) => {
      const subscription = nodeRedisConnection(client).subscribe?.(CHANNEL, {
        onMessage: (message) => {
          read.push(message);
          if (read.length === 1) void subscription?.close().then(resolve);
        },
        onHealth: () => {},
        onFailed: () => {},
      });
    });
    await ended;
    expect(read[0]).to.equal('one');
    await client.disconnect();
  });
});
