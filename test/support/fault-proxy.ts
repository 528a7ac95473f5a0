import {
  type AddressInfo,
  createConnection,
  createServer,
  type Server,
  type Socket,
} from 'node:net';

import { type Faults, ProxyLane } from './proxy-lane.js';

interface Link {
  readonly client: Socket;
  readonly server: Socket;
  readonly toServer: ProxyLane;
  readonly toClient: ProxyLane;
}

/** A TCP proxy in front of a loopback port, on a port of its own, that can do wrong on demand. */
export async function startProxy(targetPort: number): Promise<FaultProxy> {
  const proxy = new FaultProxy(targetPort);
  await proxy.listen();
  return proxy;
}

export class FaultProxy {
  readonly #targetPort: number;
  readonly #listener: Server;
  readonly #links = new Set<Link>();
  readonly #faults: Faults = { hang: false, delay: 0, split: false };
  #swallowRequests = false;
  #swallowReplies = false;
  #refuse = false;
  #refused = 0;
  #requests = 0;
  #replies = 0;

  constructor(targetPort: number) {
    this.#targetPort = targetPort;
    // Half open: a side that has sent its end may still receive.
    this.#listener = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      if (this.#refuse) this.#refuseOne(client);
      else this.#link(client);
    });
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  /** Proxied connections that are open now. */
  get connections(): number {
    return this.#links.size;
  }

  /** Connections that were destroyed at once. */
  get refused(): number {
    return this.#refused;
  }

  /** Bytes that clients have sent, swallowed ones included. */
  get requests(): number {
    return this.#requests;
  }

  /** Bytes that the server has sent, swallowed ones included. */
  get replies(): number {
    return this.#replies;
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
    this.#faults.hang = on;
    this.#pump();
  }

  /** Holds every chunk back for `ms`, in each direction. */
  delay(ms: number): void {
    this.#faults.delay = ms;
  }

  /** Delivers in chunks of 1 to 3 bytes. */
  split(on: boolean): void {
    this.#faults.split = on;
    this.#pump();
  }

  /** Destroys new connections at once; open ones stay. */
  refuse(on: boolean): void {
    this.#refuse = on;
  }

  /** Destroys every open connection, and with it what was held back. */
  cut(): void {
    for (const link of this.#links) {
      this.#drop(link);
      link.client.destroy();
      link.server.destroy();
    }
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#listener.once('error', reject);
      this.#listener.listen(0, '127.0.0.1', () => resolve());
    });
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise<void>((resolve) => {
      this.#listener.close(() => resolve());
    });
  }

  #refuseOne(client: Socket): void {
    this.#refused += 1;
    client.destroy();
  }

  #link(client: Socket): void {
    const server = createConnection({
      host: '127.0.0.1',
      port: this.#targetPort,
      allowHalfOpen: true,
      noDelay: true,
    });
    const toServer = new ProxyLane(server, this.#faults);
    const toClient = new ProxyLane(client, this.#faults);
    const link = { client, server, toServer, toClient };
    this.#links.add(link);
    client.on('data', (bytes) => {
      this.#requests += bytes.length;
      if (!this.#swallowRequests) toServer.pass(bytes);
    });
    server.on('data', (bytes) => {
      this.#replies += bytes.length;
      if (!this.#swallowReplies) toClient.pass(bytes);
    });
    this.#joinEnds(link, client, toServer);
    this.#joinEnds(link, server, toClient);
  }

  #joinEnds(link: Link, source: Socket, lane: ProxyLane): void {
    source.on('error', () => undefined); // 'close' follows, and says all that matters
    source.on('end', () => lane.end(false));
    source.on('close', () => {
      if (this.#links.has(link)) lane.end(true);
      if (link.client.destroyed && link.server.destroyed) this.#drop(link);
    });
  }

  #drop(link: Link): void {
    this.#links.delete(link);
    link.toServer.drop();
    link.toClient.drop();
  }

  #pump(): void {
    for (const { toServer, toClient } of this.#links) {
      toServer.pump();
      toClient.pump();
    }
  }
}
