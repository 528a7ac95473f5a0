import { expect } from 'chai';
import { once } from 'node:events';
import {
  type AddressInfo,
  createConnection,
  createServer,
  type Server,
  type Socket,
} from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { type FaultProxy, startProxy } from '../../test/support/fault-proxy.js';
import { eventually } from '../../test/support/eventually.js';

describe('fault proxy', () => {
  let echo: Server;
  let heard: string;
  let proxy: FaultProxy;
  let clients: Client[];

  beforeEach(async () => {
    heard = '';
    clients = [];
    echo = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (bytes) => {
        heard += bytes.toString();
        socket.write(bytes);
      });
    });
    echo.listen(0, '127.0.0.1');
    await once(echo, 'listening');
    proxy = await startProxy((echo.address() as AddressInfo).port);
  });

  afterEach(async () => {
    for (const client of clients) client.socket.destroy();
    await proxy.stop();
    await new Promise((resolve) => echo.close(resolve));
  });

  async function connect(): Promise<Client> {
    const client = new Client(proxy.port);
    clients.push(client);
    await once(client.socket, 'connect');
    return client;
  }

  it('passes bytes on and counts them', async () => {
    const client = await connect();
    client.socket.write('hello');
    await client.until('hello');
    expect(proxy).to.include({ connections: 1, requests: 5, replies: 5 });
  });

  it('swallows replies while requests arrive', async () => {
    const client = await connect();
    proxy.swallowReplies(true);
    client.socket.write('lost');
    await eventually(() => heard === 'lost' && proxy.replies === 4);
    proxy.swallowReplies(false);
    client.socket.write('kept');
    await client.until('kept');
  });

  it('swallows requests', async () => {
    const client = await connect();
    proxy.swallowRequests(true);
    client.socket.write('lost');
    await eventually(() => proxy.requests === 4);
    proxy.swallowRequests(false);
    client.socket.write('kept');
    await client.until('kept');
    expect(heard).to.equal('kept');
  });

  it('cuts what is connected, and takes new connections', async () => {
    const client = await connect();
    await eventually(() => proxy.connections === 1);
    proxy.cut();
    await once(client.socket, 'close');
    expect(proxy.connections).to.equal(0);
    const next = await connect();
    next.socket.write('again');
    await next.until('again');
  });

  it('hangs, and delivers in order when it goes on', async () => {
    const client = await connect();
    proxy.hang(true);
    client.socket.write('one ');
    client.socket.write('two');
    client.socket.end();
    await sleep(50);
    expect([heard, client.received, client.socket.destroyed]).to.deep.equal(['', '', false]);
    proxy.hang(false);
    await client.until('one two');
    await eventually(() => proxy.connections === 0);
  });

  it('keeps a connection that was made while it hung', async () => {
    proxy.hang(true);
    const client = await connect();
    client.socket.write('late');
    await sleep(30);
    expect(client.received).to.equal('');
    proxy.hang(false);
    await client.until('late');
  });

  it('delays each direction', async () => {
    const client = await connect();
    proxy.delay(60);
    const began = performance.now();
    client.socket.write('slow');
    await client.until('slow');
    expect(performance.now() - began).to.be.within(115, 5000);
  });

  it('splits into chunks of one to three bytes', async () => {
    const client = await connect();
    const text = 'abcdefghijklmnopqrstuvwxyz';
    client.socket.write(text);
    await client.until(text);
    proxy.split(true);
    client.chunks.length = 0;
    client.socket.write(text);
    await client.until(text);
    expect(client.chunks.map((chunk) => chunk.length)).to.satisfy((sizes: number[]) =>
      sizes.every((size) => size >= 1 && size <= 3),
    );
  });

  it('refuses new connections and keeps the open one', async () => {
    const client = await connect();
    client.socket.write('first');
    await client.until('first');
    proxy.refuse(true);
    const refused = await connect();
    await once(refused.socket, 'close');
    client.socket.write(' second');
    await client.until('first second');
  });

  it('hangs up on clients when nothing listens behind it', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const lonely = await startProxy(port);
    const client = new Client(lonely.port);
    await once(client.socket, 'close');
    await lonely.stop();
  });
});

class Client {
  readonly socket: Socket;
  readonly chunks: string[] = [];

  constructor(port: number) {
    this.socket = createConnection({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true });
    this.socket.on('error', () => undefined);
    this.socket.on('data', (bytes) => this.chunks.push(bytes.toString()));
    this.socket.on('end', () => this.socket.end());
  }

  get received(): string {
    return this.chunks.join('');
  }

  async until(text: string): Promise<void> {
    await eventually(() => this.received === text);
  }
}
