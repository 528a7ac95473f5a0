import { startWorker } from '../../test/support/worker-process.js';
import type { ClientCost, ClientCostTask } from '../workers/client-cost.js';

/**
 * A young generation that is large enough that nothing is collected while bytes are counted; code
 * is optimised at the same call whatever else the machine does.
 */
const FLAGS = [
  '--expose-gc',
  '--min-semi-space-size=256',
  '--max-semi-space-size=256',
  '--no-concurrent-recompilation',
];

/** The counters of a coverage run would count as bytes. */
const UNCOVERED = { NODE_V8_COVERAGE: '' };

/** The cost of a lone pair in a separate process. */
export async function clientCostOf(kind: ClientCostTask['kind'], url: string): Promise<ClientCost> {
  const program = new URL('../workers/client-cost.ts', import.meta.url);
  const task: ClientCostTask = { kind, url };
  const worker = startWorker(program, task, FLAGS, UNCOVERED);
  try {
    const cost = await worker.next('cost');
    return cost.data as ClientCost;
  } finally {
    worker.kill();
  }
}
