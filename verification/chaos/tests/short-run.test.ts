import { expect } from 'chai';

import { checkHistory } from '../checker/check-history.js';
import { assembleRun } from '../checker/assemble-run.js';
import type { HistoryEvent, SemaphoreTerms, Ticket } from '../../history/events.js';
import { describePlan } from '../nemesis/describe-plan.js';
import type { PlannedFault } from '../nemesis/plan.js';
import { runChaos } from '../run-chaos.js';
import { describeWithFakeClock } from '../../../test/support/require-server.js';
import {
  makeTemporaryFolder,
  removeTemporaryFolder,
} from '../../../test/support/temporary-folder.js';

/** Chosen so that its few seconds have kills, stops, lost data, cuts and clock steps. */
const RUN = { seed: 8, minutes: 0.2, ttl: 600, topology: 'single' } as const;

describeWithFakeClock(
  `a short chaos run (--seed ${RUN.seed} --minutes ${RUN.minutes} --ttl ${RUN.ttl})`,
  () => {
    let plan: readonly PlannedFault[];
    let events: readonly HistoryEvent[];

    before(async () => {
      const folder = makeTemporaryFolder();
      ({ plan, events } = await runChaos({ ...RUN, folder }));
      await removeTemporaryFolder(folder);
    });

    it('keeps every promise', () => {
      const broken = checkHistory(events).map(({ rule, message }) => `${rule}: ${message}`);
      expect(broken, `${describePlan(plan)}\n${broken.join('\n')}`).to.be.empty;
    });

    it('has had all its faults, its contention and its end', () => {
      const { faults, holds, seen, final, quiet } = assembleRun(events);
      expect(faults.map(({ kind }) => kind)).to.deep.equal(plan.map(({ kind }) => kind));
      for (const { to } of faults) expect(to).to.be.below(quiet ?? 0);
      expect(holds).to.have.lengthOf.above(50);
      expect(seen).to.have.lengthOf.above(50);
      expect(final?.keys).to.deep.equal(['meta']);
    });

    // Were the history too thin, or the checker too forgiving, these would not be found.
    it('shows each rule when its history is tampered with', () => {
      const tamperings: Record<string, (event: HistoryEvent) => HistoryEvent[]> = {
        limit: withTerms(({ limit }) => ({ limit: limit - 1 })),
        slots: withTickets(() => ({ slots: [99] })),
        tokens: withTickets(({ token }) => ({ token: -token })),
        order: withTickets(({ token }) => ({ token: -token })),
        server: withTerms(() => ({ limit: 1 })),
        certainty: withTerms(({ ttl }) => ({ ttl: ttl / 2 })),
        blind: (event) => [
          event.type === 'fault' && event.phase.startsWith('end')
            ? { ...event, at: event.at + 5000 }
            : event,
        ],
        'lost-silently': (event) => withoutEnds(event).map(muchLater),
        'lost-late': withoutEnds,
        'lost-early': (event) => [event.type === 'lost' ? { ...event, reason: 'expired' } : event],
        'lost-once': (event) => (event.type === 'lost' ? [event, event] : [event]),
        'held-again': (event) =>
          event.type === 'lost'
            ? [event, { ...event, type: 'held', at: event.at + 1, until: event.at + 100 }]
            : [event],
        cause: (event) => (event.type === 'fault' || event.type === 'stall' ? [] : [event]),
        deadline: (event) => [
          event.type === 'invoke' && event.timeout !== undefined
            ? { ...event, timeout: -5000 }
            : event,
        ],
        phantom: (event) => [event.type === 'final' ? { ...event, keys: ['tickets'] } : event],
        liveness: (event) => [event.type === 'run' ? { ...event, recovery: 1 } : event],
      };
      const notShown = Object.entries(tamperings).filter(
        ([rule, tamper]) => !checkHistory(events.flatMap(tamper)).some((one) => one.rule === rule),
      );
      expect(notShown.map(([rule]) => rule)).to.deep.equal([]);
    });
  },
);

function withTerms(change: (terms: SemaphoreTerms) => Partial<SemaphoreTerms>) {
  return (event: HistoryEvent): HistoryEvent[] => {
    if (event.type !== 'run') return [event];
    const semaphores = event.semaphores.map((terms) => ({ ...terms, ...change(terms) }));
    return [{ ...event, semaphores }];
  };
}

function withTickets(change: (ticket: Ticket) => Partial<Ticket>) {
  return (event: HistoryEvent): HistoryEvent[] => {
    if (event.type !== 'ok' || event.tickets === undefined) return [event];
    return [{ ...event, tickets: event.tickets.map((one) => ({ ...one, ...change(one) })) }];
  };
}

/** No holder hears of a loss, or releases. */
function withoutEnds(event: HistoryEvent): HistoryEvent[] {
  if (event.type === 'lost' || event.type === 'stall') return [];
  const isRelease = event.type === 'invoke' && event.operation === 'release';
  return [isRelease ? { ...event, operation: 'inspect' } : event];
}

/** Its holder is certain of its ticket for longer. */
function muchLater(event: HistoryEvent): HistoryEvent {
  return event.type === 'held' ? { ...event, until: event.until + 5000 } : event;
}
