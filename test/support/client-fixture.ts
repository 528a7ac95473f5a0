import type { Backend, RedisConnection, RedisTarget, SemaphoreOptions } from '../../src/index.js';
import { Semaphore } from '../../src/index.js';
import { connectionTo, openClient } from './open-client.js';

export type ClientKind = 'node-redis' | 'ioredis';

export const clientKinds: readonly ClientKind[] = ['node-redis', 'ioredis'];

export interface Login {
  readonly username: string;
  readonly password: string;
}

export interface TestClient {
  readonly target: RedisTarget;
  /** What the package itself puts between this client and its Redis backend. */
  readonly connection: RedisConnection;
  /** Ends the connection at once, whatever the server does. */
  destroy(): void;
}

/** A custom connection in front of a real client, without a subscriber. Where the test sets `fault`, that becomes of calls. */
export class FaultyConnection implements RedisConnection {
  fault: (() => Promise<unknown>) | undefined;
  /** The SHAs of the scripts so far, those that failed included. */
  readonly scripts: string[] = [];
  readonly runBySha: RedisConnection['runBySha'];
  readonly runByText: RedisConnection['runByText'];

  constructor(real: RedisConnection) {
    this.runBySha = (sha1, ...rest) => {
      this.scripts.push(sha1);
      return this.fault?.() ?? real.runBySha(sha1, ...rest);
    };
    this.runByText = (...call) => real.runByText(...call);
  }
}

/** Clients of one kind and semaphores on them, all closed at the end of the test. */
export class ClientFixture {
  readonly kind: ClientKind;
  readonly #clients: TestClient[] = [];
  readonly #semaphores: Semaphore[] = [];

  constructor(kind: ClientKind) {
    this.kind = kind;
  }

  /** A client with the library's default options. */
  async connect(port: number, login?: Login): Promise<TestClient> {
    const user = login === undefined ? '' : `${login.username}:${login.password}@`;
    const kind = this.kind === 'node-redis' ? 'redis' : 'ioredis';
    const opened = await openClient(kind, `redis://${user}127.0.0.1:${port}`);
    const { target } = opened;
    const client = { target, connection: connectionTo(target), destroy: () => void opened.close() };
    this.#clients.push(client);
    return client;
  }

  /** A client whose calls the test may fail. */
  async connectFaulty(port: number): Promise<FaultyConnection> {
    return new FaultyConnection((await this.connect(port)).connection);
  }

  /** A semaphore on a target, or on a new client of that port. */
  semaphore(target: RedisTarget | Backend, name: string, options: SemaphoreOptions): Semaphore {
    const semaphore = new Semaphore(target, name, options);
    this.#semaphores.push(semaphore);
    return semaphore;
  }

  async close(): Promise<void> {
    // Clients first: then nothing that hangs can hold up the rest.
    for (const client of this.#clients) client.destroy();
    await Promise.all(this.#semaphores.map((semaphore) => semaphore.close()));
  }
}

/** The same test once through each real client. */
export function itThroughBothClients(
  title: string,
  body: (fixture: ClientFixture) => Promise<void>,
): void {
  for (const kind of clientKinds) {
    it(`${title} (${kind})`, async () => {
      const fixture = new ClientFixture(kind);
      try {
        await body(fixture);
      } finally {
        await fixture.close();
      }
    });
  }
}

let names = 0;

/** A semaphore's name that no other test of this process has. */
export function newName(): string {
  names += 1;
  return `fault-${names}`;
}
