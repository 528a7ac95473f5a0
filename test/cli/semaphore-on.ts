import { Redis } from 'ioredis';
import type { Handle, SemaphoreState } from '../../src/index.js';
import { Semaphore } from '../../src/index.js';
import type { TestServer } from '../support/redis-server.js';

/** A semaphore of the test's own process, beside those of the program; `close` ends the client, too. */
export class OwnSemaphore {
  readonly #client: Redis;
  readonly semaphore: Semaphore;

  constructor(server: TestServer, name: string, limit: number, prefix = 'redsem') {
    this.#client = new Redis(server.port, '127.0.0.1');
    this.semaphore = new Semaphore(this.#client, name, { limit, prefix, label: 'the test' });
  }

  acquire(): Promise<Handle> {
    return this.semaphore.acquire();
  }

  inspect(): Promise<SemaphoreState> {
    return this.semaphore.inspect();
  }

  async close(): Promise<void> {
    await this.semaphore.close();
    await this.#client.quit();
  }
}

/** Opens one for the time of `body`. */
export async function withSemaphore(
  server: TestServer,
  name: string,
  limit: number,
  body: (own: OwnSemaphore) => Promise<void>,
): Promise<void> {
  const own = new OwnSemaphore(server, name, limit);
  try {
    await body(own);
  } finally {
    await own.close();
  }
}
