import { expect } from 'chai';

import {
  type Handle,
  type RedisTarget,
  Semaphore,
  type SemaphoreOptions,
} from '../../src/index.js';
import { afterTest } from '../../test/support/after-test.js';
import { type BothKinds, bothKinds } from '../../test/support/client-fixture.js';
import { eventually } from '../../test/support/eventually.js';
import type { TestServer } from '../../test/support/redis-server.js';
import { LATE_MS } from '../support/timed.js';
import type { TopologyClient } from '../support/topology-clients.js';

export type Connect = (kind: BothKinds) => TopologyClient;

export type Fixture = ReturnType<typeof fixtureOf>;

/** Makes semaphores through one library; they and their clients end with the test. */
export function fixtureOf(kind: BothKinds, connect: Connect) {
  const open = async (): Promise<RedisTarget> => {
    const client = connect(kind);
    afterTest(() => client.close());
    await client.connect();
    return client.target;
  };
  /** On a separate client unless a target is given. */
  const semaphore = async (name: string, options: SemaphoreOptions, target?: RedisTarget) => {
    const made = new Semaphore(target ?? (await open()), name, options);
    afterTest(() => made.close());
    return made;
  };
  return { kind, semaphore };
}

/** The same test once through each library. */
export function itThroughBothClients(
  title: string,
  connect: Connect,
  body: (fixture: Fixture) => Promise<void>,
): void {
  for (const kind of bothKinds) it(`${title} (${kind})`, () => body(fixtureOf(kind, connect)));
}

type Losses = readonly { readonly at: number; readonly reason: string }[];

/** When and why a handle is lost, from now on. */
export function lossesOf(handle: Handle): Losses {
  const losses: { at: number; reason: string }[] = [];
  handle.on('lost', ({ reason }) => losses.push({ at: performance.now(), reason }));
  return losses;
}

/** The handle is lost once, as expired, within one ttl after the last answer of a server. */
export async function expectLostWithin(losses: Losses, ttl: number, since: number): Promise<void> {
  await eventually(() => losses.length > 0);
  expect(losses.map(({ reason }) => reason)).to.deep.equal(['expired']);
  expect((losses[0]?.at ?? Infinity) - since).to.be.at.most(ttl + LATE_MS);
}

/** Resolves once the replicas have the writes that the master has now. */
export async function untilReplicated(
  master: TestServer,
  replicas: readonly TestServer[],
): Promise<void> {
  const written = Number(await master.stat('replication', 'master_repl_offset'));
  await eventually(async () => {
    for (const replica of replicas) {
      const received = Number(await replica.stat('replication', 'slave_repl_offset'));
      expect(received).to.be.at.least(written);
    }
  });
}
