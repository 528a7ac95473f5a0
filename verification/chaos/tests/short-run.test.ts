import { expect } from 'chai';

import { checkHistory } from '../check-history.js';
import type { HistoryEvent } from '../../history/events.js';
import { describePlan, type PlannedFault } from '../nemesis/plan.js';
import { runChaos } from '../run-chaos.js';
import { describeWithFakeClock } from '../../../test/support/require-server.js';
import {
  makeTemporaryFolder,
  removeTemporaryFolder,
} from '../../../test/support/temporary-folder.js';

/** Chosen so that its few seconds have kills, stops, lost data, cuts and clock steps. */
const RUN = { seed: 8, minutes: 0.2, ttl: 600, topology: 'single', keeper: false } as const;

describeWithFakeClock(
  `a short chaos run (--seed ${RUN.seed} --minutes ${RUN.minutes} --ttl ${RUN.ttl})`,
  () => {
    let plan: readonly PlannedFault[];
    let events: readonly HistoryEvent[];

    before(async () => {
      const folder = makeTemporaryFolder();
      ({ plan, events } = await runChaos(RUN, folder));
      await removeTemporaryFolder(folder);
    });

    it('keeps every promise', () => {
      const broken = checkHistory(events).map(({ rule, message }) => `${rule}: ${message}`);
      expect(broken, `${describePlan(plan)}\n${broken.join('\n')}`).to.be.empty;
    });

    it('has had all its faults, its contention and its end', () => {
      const faults = events.filter((event) => event.type === 'fault' && event.phase === 'begin');
      expect(faults.map((event) => event.type === 'fault' && event.kind)).to.deep.equal(
        plan.map(({ kind }) => kind),
      );
      const types = events.map(({ type }) => type);
      expect(types.indexOf('quiet')).to.be.above(types.lastIndexOf('fault'));
      const granted = events.filter((event) => event.type === 'ok' && event.tickets !== undefined);
      expect(granted).to.have.lengthOf.above(50);
      expect(types.filter((type) => type === 'seen')).to.have.lengthOf.above(50);
      expect(events.find((event) => event.type === 'final')?.keys).to.deep.equal(['info']);
    });
  },
);
