import { expect } from 'chai';

import { clientCostOf } from '../../benchmarks/measure/client-cost-run.js';
import { describeWithServer } from '../support/require-server.js';

/**
 * Of one lone pair. `npm run bench -- client` has the bars; the bytes here are what the last change
 * has reached, and the next one lowers them.
 */
const BARS = [
  { kind: 'redsem-ioredis', promises: 14, bytes: 15_600, ownTimers: 0 },
  { kind: 'redsem-node-redis', promises: 22, bytes: 18_900, ownTimers: 2 },
  { kind: 'redsem-memory', promises: 10, bytes: 8_700, ownTimers: 0 },
] as const;

describeWithServer('what a lone pair makes in its process', (server) => {
  for (const { kind, promises, bytes, ownTimers } of BARS) {
    it(`is at most ${promises} promises and ${bytes} bytes, and no timer: ${kind}`, async () => {
      const cost = await clientCostOf(kind, server().url);
      expect(cost.promises).to.be.at.most(promises);
      expect(cost.timers).to.be.at.most(ownTimers + 0.1);
      expect(cost.bytes).to.be.at.most(bytes);
    });
  }
});
