import type { SingleTarget } from '../../src/clients.js';
import { type ClientKind, type OpenClient, openClient } from '../support/open-client.js';
import { startServer, type TestServer } from '../support/redis-server.js';
import { describeStarted, noServer } from '../support/require-server.js';

/** Independent masters, and clients to all of them. */
export class Masters {
  readonly servers: readonly TestServer[];
  readonly #clients: OpenClient[] = [];

  constructor(servers: readonly TestServer[]) {
    this.servers = servers;
  }

  /** Separate clients to each master, as another process would have. */
  async connect(kind: ClientKind): Promise<SingleTarget[]> {
    const clients = await Promise.all(this.servers.map(({ url }) => openClient(kind, url)));
    this.#clients.push(...clients);
    return clients.map(({ target }) => target as SingleTarget);
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) await client.close().catch(() => undefined);
    await Promise.all(this.servers.map((server) => server.stop()));
  }
}

/**
 * A `describe` with its own masters, `count` of them; its tests are pending where there is no
 * server program.
 */
export function describeWithMasters(
  title: string,
  count: number,
  body: (masters: () => Masters) => void,
): void {
  const start = async (): Promise<Masters> =>
    new Masters(await Promise.all(Array.from({ length: count }, () => startServer())));
  describeStarted(title, noServer(), start, body);
}
