import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';

/** A TCP proxy in front of a loopback port, on a separate port, that injects faults on demand. */
export async function startProxy(targetPort: number): Promise<FaultProxy> {
  const proxy = new FaultProxy(targetPort);
  await proxy.listen();
  return proxy;
}

export class FaultProxy {
  readonly #targetPort: number;
  readonly #listener;
  readonly #links = new Set<readonly Socket[]>();
  /** Drops the clients' calls. */
  swallowsRequests = false;
  /** Drops the server's replies: the server executes calls, and no client learns of it. */
  swallowsReplies = false;
  /** Destroys new connections at once; open ones stay. */
  refuses = false;
  /** Milliseconds for which every chunk is held back, in each direction. */
  delay = 0;
  /** Delivers in chunks of 1 to 3 bytes. */
  splits = false;
  /** Resolves once it no longer hangs. */
  #flowing = Promise.resolve();
  #flow: (() => void) | undefined;

  constructor(targetPort: number) {
    this.#targetPort = targetPort;
    // Half open: a side that has sent its end may still receive.
    this.#listener = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      if (this.refuses) client.destroy();
      else this.#link(client);
    });
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  /** Keeps all bytes and all sockets, and delivers when turned off. */
  hang(on: boolean): void {
    if (on && this.#flow !== undefined) return;
    this.#flow?.();
    this.#flow = undefined;
    if (on) this.#flowing = new Promise((resolve) => (this.#flow = resolve));
  }

  /** Destroys every open connection, with the bytes that were held back. */
  cut(): void {
    for (const sockets of this.#links) for (const socket of sockets) socket.destroy();
    this.#links.clear();
  }

  async listen(): Promise<void> {
    await once(this.#listener.listen(0, '127.0.0.1'), 'listening');
  }

  async stop(): Promise<void> {
    this.cut();
    this.hang(false);
    await new Promise((resolve) => this.#listener.close(resolve));
  }

  #link(client: Socket): void {
    const place = { host: '127.0.0.1', port: this.#targetPort };
    const server = createConnection({ ...place, allowHalfOpen: true, noDelay: true });
    const link = [client, server];
    this.#links.add(link);
    const requests = this.#join(client, server);
    const replies = this.#join(server, client);
    client.on('data', (bytes) => {
      if (!this.swallowsRequests) requests(() => this.#deliver(bytes, server));
    });
    server.on('data', (bytes) => {
      if (!this.swallowsReplies) replies(() => this.#deliver(bytes, client));
    });
    for (const socket of link) {
      socket.on('close', () => {
        if (link.every(({ destroyed }) => destroyed)) this.#links.delete(link);
      });
    }
  }

  /**
   * One direction of one connection: keeps the order of bytes and of the end, whatever the faults.
   */
  #join(source: Socket, target: Socket): (step: () => unknown) => void {
    let earlier: Promise<unknown> = Promise.resolve();
    const passOn = async (before: Promise<unknown>, due: number, step: () => unknown) => {
      await before;
      const wait = due - performance.now();
      if (wait > 0) await sleep(wait);
      await this.#flowing;
      if (!target.destroyed) await step();
    };
    const pass = (step: () => unknown): void => {
      earlier = passOn(earlier, performance.now() + this.delay, step);
    };
    source.on('error', () => undefined); // 'close' follows
    source.on('end', () => pass(() => target.end()));
    source.on('close', () => pass(() => target.destroySoon()));
    return pass;
  }

  async #deliver(bytes: Buffer, target: Socket): Promise<void> {
    for (let at = 0; at < bytes.length && target.writable;) {
      const size = this.splits ? 1 + (at % 3) : bytes.length;
      target.write(bytes.subarray(at, at + size));
      at += size;
      // A pause between pieces, and a look at the sockets, or the receiver would read them as one
      // chunk again.
      if (!this.splits) continue;
      await sleep(1);
      await turn();
    }
  }
}
