import type { TestServer } from '../../test/support/redis-server.js';
import { eventually } from '../../test/support/eventually.js';

/** Resolves once all that stands on the master when this is called stands on the replicas as well. */
export async function untilReplicated(
  master: TestServer,
  replicas: readonly TestServer[],
): Promise<void> {
  const written = Number(await master.stat('replication', 'master_repl_offset'));
  await eventually(async () => {
    for (const replica of replicas) {
      const received = Number(await replica.stat('replication', 'slave_repl_offset'));
      if (received < written) throw new Error(`replicated ${received} of ${written}`);
    }
  });
}
