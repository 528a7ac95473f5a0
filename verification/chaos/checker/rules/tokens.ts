import type { Violation } from '../../../history/events.js';
import type { Hold, RunRecord } from '../run-record.js';
import { tokenEpochs } from '../token-epochs.js';
import { isAmbiguous } from '../uncertain-holds.js';

/**
 * Fencing tokens are never given twice and rise with every grant: between calls of which one ended
 * before the other began, and from holder to holder of each slot.
 */
export function checkTokens(run: RunRecord): Violation[] {
  const epochs = tokenEpochs(run);
  return epochs.flatMap((holds) => [
    ...checkUnique(holds),
    ...checkOverall(holds),
    ...checkPerSlot(holds, run),
  ]);
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
  const byGrant = holds.toSorted((a, b) => a.granted - b.granted).values();
  let before = byGrant.next().value;
  let highest: Hold | undefined;
  return holds
    .toSorted((a, b) => a.invoked - b.invoked)
    .flatMap((hold) => {
      for (; before !== undefined && before.granted < hold.invoked; before = byGrant.next().value) {
        if (before.token > (highest?.token ?? -Infinity)) highest = before;
      }
      if (highest === undefined || highest.token <= hold.token) return [];
      return violation(hold, `got token ${hold.token} after ${highest.id} had ${highest.token}`);
    });
}

function checkPerSlot(holds: readonly Hold[], run: RunRecord): Violation[] {
  const last = new Map<number, Hold>();
  // A lease may be over before its holder hears of it: its slot may have another holder by then.
  return holds
    .filter((hold) => hold.certain > hold.granted && !isAmbiguous(hold, run))
    .toSorted((a, b) => a.granted - b.granted)
    .flatMap((hold) =>
      hold.slots.flatMap((slot) => {
        const before = last.get(slot);
        last.set(slot, hold);
        if (before === undefined || before.token <= hold.token) return [];
        const message = `got token ${hold.token} on slot ${slot} after ${before.id} had ${before.token}`;
        return violation(hold, message);
      }),
    );
}

function violation({ id, granted: at }: Hold, message: string): Violation[] {
  return [{ rule: 'tokens', at, message: `${id} ${message}` }];
}
