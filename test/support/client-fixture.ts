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

export type ClientFixture = ReturnType<typeof clientsOf>;

/** Clients of one kind and semaphores on them, all closed at the end of the test. */
function clientsOf(kind: BothKinds) {
  const clients: OpenClient[] = [];
  const semaphores: Semaphore[] = [];
  afterTest(async () => {
    // Clients first: then nothing that hangs can hold up the rest.
    for (const client of clients) void client.close();
    await Promise.all(semaphores.map((semaphore) => semaphore.close()));
  });
  /** A client with the library's default options. */
  const connect = async (port: number, login?: Login): Promise<OpenClient> => {
    const user = login === undefined ? '' : `${login.username}:${login.password}@`;
    const client = await openClient(kind, `redis://${user}127.0.0.1:${port}`);
    clients.push(client);
    return client;
  };
  const semaphore = (target: RedisTarget | Backend, name: string, options: SemaphoreOptions) => {
    const made = new Semaphore(target, name, options);
    semaphores.push(made);
    return made;
  };
  return { kind, connect, semaphore };
}

type Body = (fixture: ClientFixture) => Promise<void>;

/** A test through a real client, where the other client behaves alike. */
export function itThrough(kind: BothKinds, title: string, body: Body): void {
  it(`${title} (${kind})`, () => body(clientsOf(kind)));
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
