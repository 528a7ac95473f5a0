import type { Backend, RedisTarget, SemaphoreOptions } from '../../src/index.js';
import { Semaphore } from '../../src/index.js';
import { afterTest } from './after-test.js';
import { type OpenClient, openClient } from './open-client.js';

/** A client of each library. */
export const bothKinds = ['redis', 'ioredis'] as const;

export type BothKinds = (typeof bothKinds)[number];

export interface Login {
  readonly username: string;
  readonly password: string;
}

/** Clients of one kind and semaphores on them, all closed at the end of the test. */
export class ClientFixture {
  readonly kind: BothKinds;
  readonly #clients: OpenClient[] = [];
  readonly #semaphores: Semaphore[] = [];

  constructor(kind: BothKinds) {
    this.kind = kind;
  }

  /** A client with the library's default options. */
  async connect(port: number, login?: Login): Promise<OpenClient> {
    const user = login === undefined ? '' : `${login.username}:${login.password}@`;
    const client = await openClient(this.kind, `redis://${user}127.0.0.1:${port}`);
    this.#clients.push(client);
    return client;
  }

  /** A semaphore on a target, or on a new client of that port. */
  semaphore(target: RedisTarget | Backend, name: string, options: SemaphoreOptions): Semaphore {
    const semaphore = new Semaphore(target, name, options);
    this.#semaphores.push(semaphore);
    return semaphore;
  }

  async close(): Promise<void> {
    // Clients first: then nothing that hangs can hold up the rest.
    for (const client of this.#clients) void client.close();
    await Promise.all(this.#semaphores.map((semaphore) => semaphore.close()));
  }
}

type Body = (fixture: ClientFixture) => Promise<void>;

/** A test through a real client, where the other client behaves alike. */
export function itThrough(kind: BothKinds, title: string, body: Body): void {
  it(`${title} (${kind})`, async () => {
    const fixture = new ClientFixture(kind);
    afterTest(() => fixture.close());
    await body(fixture);
  });
}

/** The same test once through each real client. */
export function itThroughBothClients(title: string, body: Body): void {
  for (const kind of bothKinds) itThrough(kind, title, body);
}

let names = 0;

/** A semaphore's name that no other test of this process has. */
export function newName(): string {
  names += 1;
  return `fault-${names}`;
}
