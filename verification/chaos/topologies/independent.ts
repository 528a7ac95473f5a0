import { startServer } from '../../../test/support/redis-server.js';
import { noFakeClock } from '../../../test/support/require-server.js';
import { keepingData } from './server-faults.js';
import type { Servers } from './topology.js';

/**
 * One master, or several that know nothing of each other; a fault strikes one of them at a time, or
 * the way to it.
 */
export async function startIndependent(
  topology: 'single' | 'quorum',
  count: number,
): Promise<Servers> {
  const fakeClock = topology === 'single' && noFakeClock() === undefined;
  const starts = Array.from({ length: count }, () => startServer({ fakeClock, args: keepingData }));
  const servers = await Promise.all(starts);
  const ports = servers.map(({ port }) => port);
  return {
    topology,
    ports,
    named: ports.map((port) => ({ named: port, port })),
    struck: ({ node = 0 }) => servers[node]!,
    keepers: () => servers,
    stop: () => Promise.all(servers.map((server) => server.stop())),
  };
}
