import type { Backend, Handle, RedisTarget, Semaphore, SemaphoreOptions } from '../../src/index.js';
import {
  type ClientFixture,
  itThroughBothClients,
  type Login,
  newName,
} from '../../test/support/client-fixture.js';
import type { TestServer } from '../../test/support/redis-server.js';
import { StoredSemaphore } from '../support/stored-semaphore.js';

type Options = Partial<SemaphoreOptions>;

/**
 * One semaphore of limit 1, unless its options say otherwise, through clients of one kind; and what
 * Redis stores of it.
 */
export class Fixture {
  readonly clients: ClientFixture;
  readonly name = newName();
  readonly stored: StoredSemaphore;
  readonly #server: TestServer;

  constructor(server: TestServer, clients: ClientFixture) {
    this.#server = server;
    this.clients = clients;
    this.stored = new StoredSemaphore(server, this.name);
  }

  /** The semaphore over a separate client. */
  async semaphore(options: Options = {}, port = this.#server.port, login?: Login) {
    return this.over((await this.clients.connect(port, login)).target, options);
  }

  over(target: RedisTarget | Backend, options: Options = {}): Semaphore {
    return this.clients.semaphore(target, this.name, { limit: 1, ...options });
  }
}

/** An `it` that runs once through each real client, with its own semaphore on that server. */
export function throughBothClients(server: () => TestServer) {
  return (title: string, body: (fixture: Fixture) => Promise<void>): void =>
    itThroughBothClients(title, (clients) => body(new Fixture(server(), clients)));
}

/** Every way of trying for a permit; the first one waits for so long. */
export function waysIn(semaphore: Semaphore, timeout?: number): (() => Promise<unknown>)[] {
  const acquire = (): Promise<Handle> => semaphore.acquire(timeout);
  return [acquire, () => semaphore.acquire(0), () => semaphore.tryAcquire()];
}
