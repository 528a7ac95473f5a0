import { startCluster, type TestCluster } from './redis-cluster.js';
import { startSentinels, type TestSentinels } from './redis-sentinel.js';
import { noServer } from './require-server.js';

/** A `describe` with a cluster of its own; its tests are pending where there is no server program. */
export function describeWithCluster(
  title: string,
  body: (cluster: () => TestCluster) => void,
): void {
  describeWith(title, startCluster, body);
}

/** A `describe` with a master, its replicas and sentinels of its own; pending where there is no server program. */
export function describeWithSentinels(
  title: string,
  body: (sentinels: () => TestSentinels) => void,
): void {
  describeWith(title, startSentinels, body);
}

function describeWith<T extends { stop(): Promise<void> }>(
  title: string,
  start: () => Promise<T>,
  body: (started: () => T) => void,
): void {
  const missing = noServer();
  if (missing !== undefined) {
    describe.skip(`${title} (skipped: no ${missing} on this machine)`, () => body(unavailable));
    return;
  }
  describe(title, () => {
    let running: T | undefined;
    before('start the servers', async () => {
      running = await start();
    });
    after('stop the servers', () => running?.stop());
    body(() => running ?? unavailable());
  });
}

function unavailable(): never {
  throw new Error('there are servers only inside tests and hooks');
}
