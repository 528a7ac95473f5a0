import { expect } from 'chai';
import { setImmediate as turn } from 'node:timers/promises';

import { Semaphore } from '../../src/index.js';
import type { Place, Row } from '../../test/conformance/row.js';
import { clusterRows } from '../conformance/rows/cluster-rows.js';
import { serverRows } from '../../test/conformance/rows/server-rows.js';
import { sentinelRows } from '../conformance/rows/sentinel-rows.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { describeWithCluster, describeWithSentinels } from '../../test/support/require-topology.js';
import { ClientConnections } from './client-connections.js';
import { newName } from '../../test/support/client-bench.js';
import { eventually } from '../../test/support/eventually.js';

interface Scene {
  readonly place: Place;
  readonly connections: ClientConnections;
  readonly name: string;
}

const options = { limit: 1, ttl: 30_000 };

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await turn();
}

/** Resolves once there is one subscriber, and no more than that. */
async function subscribed({ connections }: Scene): Promise<void> {
  await eventually(async () => expect(await connections.subscribers()).to.have.length(1));
}

/** Closed a little later in each round: before the socket is made, while it is, in the handshake, while it subscribes. */
async function closesWhileItConnects(scene: Scene, round: number): Promise<void> {
  const semaphore = new Semaphore(scene.place.target, scene.name, options);
  const waiting = semaphore.acquire().catch(() => undefined);
  await turns(5 * round);
  await semaphore.close();
  await waiting;
}

/** Cut while nobody waits any more. */
async function breaksWhileIdle(scene: Scene): Promise<void> {
  const semaphore = new Semaphore(scene.place.target, scene.name, options);
  const controller = new AbortController();
  const waiting = semaphore.acquire({ signal: controller.signal }).catch(() => undefined);
  await subscribed(scene);
  controller.abort();
  await waiting;
  await scene.connections.cutSubscribers();
}

/** Cut while somebody waits, and closed a little later in each round. */
async function closesWhileItReconnects(scene: Scene, round: number): Promise<void> {
  const semaphore = new Semaphore(scene.place.target, scene.name, options);
  const waiting = semaphore.acquire().catch(() => undefined);
  await subscribed(scene);
  await scene.connections.cutSubscribers();
  await turns(5 * round);
  await semaphore.close();
  await waiting;
}

/** Cut twice while somebody waits: each time another takes its place, after a pause. */
async function breaksWhileInUse(scene: Scene): Promise<void> {
  const semaphore = new Semaphore(scene.place.target, scene.name, options);
  const waiting = semaphore.acquire().catch(() => undefined);
  for (let cut = 0; cut < 2; cut += 1) {
    await subscribed(scene);
    await scene.connections.cutSubscribers();
  }
  await subscribed(scene);
  await semaphore.close();
  await waiting;
}

type Moment = (scene: Scene, round: number) => Promise<void>;

/** `once`: too slow to be repeated. */
const moments: readonly { which: string; moment: Moment; once?: true }[] = [
  { which: 'that is closed while it connects', moment: closesWhileItConnects },
  { which: 'that breaks while nobody waits', moment: breaksWhileIdle },
  { which: 'that breaks, and is closed while it reconnects', moment: closesWhileItReconnects },
  { which: 'that breaks while somebody waits', moment: breaksWhileInUse, once: true },
];

async function leavesNothing(
  row: Row,
  connections: ClientConnections,
  moment: Moment,
  rounds: number,
): Promise<void> {
  const place = await row.open();
  const scene: Scene = { place, connections, name: newName() };
  const other = new Semaphore(place.other, scene.name, options);
  try {
    await other.acquire();
    for (let round = 0; round < rounds; round += 1) await moment(scene, round);
    await new Semaphore(place.target, scene.name, options).close();
    await eventually(async () => expect(await connections.subscribers()).to.deep.equal([]));
  } finally {
    await other.close();
    await place.close();
  }
  await eventually(async () => expect(await connections.all()).to.deep.equal([]));
}

/** The owner has closed the client while it was in use. */
async function leavesNothingBehindItsClient(row: Row, connections: ClientConnections) {
  const place = await row.open();
  const scene: Scene = { place, connections, name: newName() };
  const [semaphore, other] = [place.target, place.other].map(
    (target) => new Semaphore(target, scene.name, options),
  );
  await other?.acquire();
  const waiting = semaphore?.acquire().catch(() => undefined);
  await subscribed(scene);
  await place.close();
  await Promise.all([semaphore?.close(), other?.close(), waiting]);
  await eventually(async () => expect(await connections.all()).to.deep.equal([]));
}

function itLeavesNothing(
  rows: readonly Row[],
  connections: () => ClientConnections,
  times: number,
) {
  for (const row of rows) {
    for (const { which, moment, once } of moments) {
      const rounds = once ? 1 : times;
      it(`of ${row.title} ${which}, times ${rounds}`, () =>
        leavesNothing(row, connections(), moment, rounds));
    }
    it(`of ${row.title} whose client is closed first`, () =>
      leavesNothingBehindItsClient(row, connections()));
  }
}

const onlyPlain = ({ title }: Row) => !/Pool|keyPrefix|RESP 2|methods/.test(title);

describeWithServer('no socket is left of a subscriber', (server) => {
  const rows = serverRows(server).filter(onlyPlain);
  itLeavesNothing(rows, () => new ClientConnections([server()]), 100);
});

describeWithCluster('no socket is left of a subscriber on a cluster', (cluster) => {
  const { all, others } = clusterRows(cluster);
  itLeavesNothing([...all, ...others], () => new ClientConnections(cluster().nodes), 25);
});

describeWithSentinels('no socket is left of a subscriber with sentinels', (sentinels) => {
  const rows = sentinelRows(sentinels);
  itLeavesNothing(rows, () => new ClientConnections(sentinels().servers), 25);
});
