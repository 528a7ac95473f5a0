import { expect } from 'chai';

import { checkHistory } from '../checker/check-history.js';
import { putTogether } from '../checker/put-together.js';
import type { HistoryEvent, SemaphoreTerms } from '../../history/events.js';
import { describePlan } from '../nemesis/describe-plan.js';
import type { PlannedFault } from '../nemesis/plan.js';
import { runChaos } from '../run-chaos.js';
import { noFakeClock, noServer } from '../../../test/support/require-server.js';
import {
  makeTemporaryFolder,
  removeTemporaryFolder,
} from '../../../test/support/temporary-folder.js';

/** Chosen so that its few seconds have kills, stops, lost data, cuts and clock steps. */
const SEED = 8;
const MINUTES = 0.2;
const TTL = 600;

const missing = noServer() ?? noFakeClock();
const title = `a short chaos run (--seed ${SEED} --minutes ${MINUTES} --ttl ${TTL})`;

if (missing === undefined) describe(title, shortRun);
else describe.skip(`${title} (skipped: no ${missing} on this machine)`, shortRun);

function shortRun(this: Mocha.Suite): void {
  this.timeout(90_000);
  let plan: readonly PlannedFault[];
  let events: readonly HistoryEvent[];

  before(async () => {
    const folder = makeTemporaryFolder();
    const options = { seed: SEED, minutes: MINUTES, topology: 'single', ttl: TTL } as const;
    ({ plan, events } = await runChaos({ ...options, folder }));
    await removeTemporaryFolder(folder);
  });

  it('keeps every promise', () => {
    const broken = brokenRules(events);
    expect(broken, `${describePlan(plan)}\n${broken.join('\n')}`).to.be.empty;
  });

  it('has had all its faults, its contention and its end', () => {
    const { faults, holds, seen, final, quiet } = putTogether(events);
    expect(faults.map(({ kind }) => kind)).to.deep.equal(plan.map(({ kind }) => kind));
    for (const { to } of faults) expect(to).to.be.below(quiet ?? 0);
    expect(holds).to.have.lengthOf.above(50);
    expect(seen).to.have.lengthOf.above(50);
    expect(final?.keys).to.deep.equal(['meta']);
  });

  // Were the history too thin, or the checker too forgiving, these would pass.
  const tamperings: Record<string, (event: HistoryEvent) => HistoryEvent[]> = {
    limit: withTerms(({ limit }) => ({ limit: limit - 1 })),
    tokens: (event) =>
      event.type === 'ok' && event.tickets !== undefined
        ? [{ ...event, tickets: event.tickets.map((one) => ({ ...one, token: -one.token })) }]
        : [event],
    server: withTerms(() => ({ limit: 1 })),
    certainty: withTerms(({ ttl }) => ({ ttl: ttl / 2 })),
    'lost-once': (event) => (event.type === 'lost' ? [event, event] : [event]),
    phantom: (event) => [event.type === 'final' ? { ...event, keys: ['tickets'] } : event],
    liveness: (event) => [event.type === 'run' ? { ...event, recovery: 1 } : event],
  };
  for (const [rule, tamper] of Object.entries(tamperings)) {
    it(`shows '${rule}' when its history is tampered with`, () => {
      const found = checkHistory(events.flatMap(tamper));
      expect(found.map((violation) => violation.rule)).to.include(rule);
    });
  }
}

function withTerms(change: (terms: SemaphoreTerms) => Partial<SemaphoreTerms>) {
  return (event: HistoryEvent): HistoryEvent[] => {
    if (event.type !== 'run') return [event];
    const semaphores = event.semaphores.map((terms) => ({ ...terms, ...change(terms) }));
    return [{ ...event, semaphores }];
  };
}

function brokenRules(events: readonly HistoryEvent[]): string[] {
  return checkHistory(events).map(({ rule, message }) => `${rule}: ${message}`);
}
