import type { Violation } from '../../../history/events.js';
import { UncertainHolds } from '../uncertain-holds.js';
import { tokenEpochs } from '../token-epochs.js';
import type { Hold, RunRecord } from '../run-record.js';

/**
 * Fencing tokens are never given twice and rise with every grant: between calls of which one ended
 * before the other began, and from holder to holder of each slot.
 */
export function checkTokens(run: RunRecord): Violation[] {
  const epochs = tokenEpochs(run);
  return [
    ...epochs.flatMap((holds) => checkUnique(holds)),
    ...epochs.flatMap((holds) => checkOverall(holds)),
    ...epochs.flatMap((holds) => checkPerSlot(holds, new UncertainHolds(run))),
  ];
}

function checkUnique(holds: readonly Hold[]): Violation[] {
  const byToken = new Map<number, Hold>();
  return holds.flatMap((hold) => {
    const other = byToken.get(hold.token);
    byToken.set(hold.token, hold);
    if (other === undefined) return [];
    return violation(hold, `has the same token ${hold.token} as ${other.id}`);
  });
}

function checkOverall(holds: readonly Hold[]): Violation[] {
  const byGrant = holds.toSorted((a, b) => a.granted - b.granted);
  let highest: Hold | undefined;
  let next = 0;
  return holds
    .toSorted((a, b) => a.invoked - b.invoked)
    .flatMap((hold) => {
      let before = byGrant[next];
      while (before !== undefined && before.granted < hold.invoked) {
        if (before.token > (highest?.token ?? -Infinity)) highest = before;
        next += 1;
        before = byGrant[next];
      }
      if (highest === undefined || highest.token <= hold.token) return [];
      return violation(
        hold,
        `got token ${hold.token} after ${highest.id} already had ${highest.token}`,
      );
    });
}

function checkPerSlot(holds: readonly Hold[], doubts: UncertainHolds): Violation[] {
  const last = new Map<number, Hold>();
  // A lease may be over before its holder hears of it: nobody has believed in that one, and its
  // slot may be another's by then.
  const believed = holds.filter(({ certain, granted }) => certain > granted);
  const certain = believed.filter((hold) => !doubts.ambiguous(hold));
  return certain
    .toSorted((a, b) => a.granted - b.granted)
    .flatMap((hold) =>
      hold.slots.flatMap((slot) => {
        const before = last.get(slot);
        last.set(slot, hold);
        if (before === undefined || before.token <= hold.token) return [];
        return violation(
          hold,
          `got token ${hold.token} on slot ${slot} after ${before.id} had ${before.token}`,
        );
      }),
    );
}

function violation({ id, granted: at }: Hold, message: string): Violation[] {
  return [{ rule: 'tokens', at, message: `${id} ${message}` }];
}
