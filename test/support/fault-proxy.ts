import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';

import { type Faults, ProxyLane } from './proxy-lane.js';

/** A TCP proxy in front of a loopback port, on a port of its own, that can do wrong on demand. */
export async function startProxy(targetPort: number): Promise<FaultProxy> {
  const proxy = new FaultProxy(targetPort);
  await proxy.listen();
  return proxy;
}

interface Link {
  readonly sockets: readonly Socket[];
  readonly lanes: readonly ProxyLane[];
}

export class FaultProxy {
  /** Bytes that clients and the server have sent, swallowed ones included. */
  requests = 0;
  replies = 0;
  /** Connections that were destroyed at once. */
  refused = 0;
  readonly #targetPort: number;
  readonly #listener;
  readonly #links = new Set<Link>();
  readonly #faults: Faults = { hang: false, delay: 0, split: false };
  #swallowRequests = false;
  #swallowReplies = false;
  #refuse = false;

  constructor(targetPort: number) {
    this.#targetPort = targetPort;
    // Half open: a side that has sent its end may still receive.
    this.#listener = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      if (!this.#refuse) return this.#link(client);
      this.refused += 1;
      client.destroy();
    });
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  /** Proxied connections that are open now. */
  get connections(): number {
    return this.#links.size;
  }

  /** Drops what the server sends from now on: it does what it is told, and nobody hears of it. */
  swallowReplies(on: boolean): void {
    this.#swallowReplies = on;
  }

  /** Drops what clients send from now on. */
  swallowRequests(on: boolean): void {
    this.#swallowRequests = on;
  }

  /** Keeps all bytes and all sockets, and delivers when turned off. */
  hang(on: boolean): void {
    this.#change({ hang: on });
  }

  /** Holds every chunk back for `ms`, in each direction. */
  delay(ms: number): void {
    this.#change({ delay: ms });
  }

  /** Delivers in chunks of 1 to 3 bytes. */
  split(on: boolean): void {
    this.#change({ split: on });
  }

  /** Destroys new connections at once; open ones stay. */
  refuse(on: boolean): void {
    this.#refuse = on;
  }

  /** Destroys every open connection, and with it what was held back. */
  cut(): void {
    for (const link of this.#links) {
      this.#drop(link);
      for (const socket of link.sockets) socket.destroy();
    }
  }

  async listen(): Promise<void> {
    await once(this.#listener.listen(0, '127.0.0.1'), 'listening');
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#listener.close(resolve));
  }

  #link(client: Socket): void {
    const place = { host: '127.0.0.1', port: this.#targetPort };
    const server = createConnection({ ...place, allowHalfOpen: true, noDelay: true });
    const toServer = new ProxyLane(server, this.#faults);
    const toClient = new ProxyLane(client, this.#faults);
    const link = { sockets: [client, server], lanes: [toServer, toClient] };
    this.#links.add(link);
    client.on('data', (bytes) => {
      this.requests += bytes.length;
      if (!this.#swallowRequests) toServer.pass(bytes);
    });
    server.on('data', (bytes) => {
      this.replies += bytes.length;
      if (!this.#swallowReplies) toClient.pass(bytes);
    });
    this.#joinEnds(link, client, toServer);
    this.#joinEnds(link, server, toClient);
  }

  #joinEnds(link: Link, source: Socket, lane: ProxyLane): void {
    source.on('error', () => undefined); // 'close' follows, and says all that matters
    source.on('end', () => lane.pass('end'));
    source.on('close', () => {
      if (this.#links.has(link)) lane.pass('destroy');
      if (link.sockets.every((socket) => socket.destroyed)) this.#drop(link);
    });
  }

  #drop(link: Link): void {
    this.#links.delete(link);
    for (const lane of link.lanes) lane.drop();
  }

  #change(faults: Partial<Faults>): void {
    Object.assign(this.#faults, faults);
    for (const { lanes } of this.#links) for (const lane of lanes) lane.pump();
  }
}
