import type { Violation } from '../../../history/events.js';
import { UncertainHolds } from '../uncertain-holds.js';
import type { Hold, RunRecord } from '../run-record.js';

interface Step {
  readonly at: number;
  readonly begins: boolean;
  readonly hold: Hold;
}

/** Never more permits held at once than the limit, and no slot by two holders. */
export function checkLimit(run: RunRecord): Violation[] {
  const { limit } = run.header;
  const violations: Violation[] = [];
  const holding = new Set<Hold>();
  const bySlot = new Map<number, Hold>();
  let depth = 0;
  for (const { at, begins, hold } of stepsOf(run)) {
    depth += (begins ? 1 : -1) * hold.slots.length;
    if (!begins) {
      holding.delete(hold);
      for (const slot of hold.slots) if (bySlot.get(slot) === hold) bySlot.delete(slot);
      continue;
    }
    holding.add(hold);
    const taken = hold.slots.filter((slot) => bySlot.has(slot));
    for (const slot of hold.slots) bySlot.set(slot, hold);
    if (depth > limit) {
      const ids = [...holding].map(({ id }) => id).join(', ');
      violations.push({
        rule: 'limit',
        at,
        message: `${depth} of ${limit} permits are held: ${ids}`,
      });
    } else if (taken.length > 0) {
      const message = `slots ${taken.join(', ')} of ${hold.id} have another holder`;
      violations.push({ rule: 'slots', at, message });
    }
  }
  return violations;
}

/** A hold that ends at the moment at which another begins does not overlap it. */
function stepsOf(run: RunRecord): Step[] {
  const doubts = new UncertainHolds(run);
  const steps = run.holds.flatMap((hold) =>
    doubts.certain(hold).flatMap(({ from, to }) => [
      { at: from, begins: true, hold },
      { at: to, begins: false, hold },
    ]),
  );
  return steps.toSorted((a, b) => a.at - b.at || Number(a.begins) - Number(b.begins));
}

/** As many different slots as permits were asked for, each below the limit. */
export function checkSlots({ header, holds }: RunRecord): Violation[] {
  return holds.flatMap(({ id, slots, permits, granted: at }) => {
    const right =
      new Set(slots).size === permits &&
      slots.length === permits &&
      slots.every((slot) => Number.isInteger(slot) && slot >= 0 && slot < header.limit);
    const message = `${id} asked for ${permits} of ${header.limit} permits and got slots ${slots.join(', ')}`;
    return right ? [] : [{ rule: 'slots', at, message }];
  });
}

/** The server itself never shows more than the limit, nor one slot twice: no fault excuses that. */
export function checkServer({ header, seen }: RunRecord): Violation[] {
  return seen.flatMap(({ at, holders }) => {
    const slots = holders.flatMap((holder) => holder.slots);
    if (slots.length <= header.limit && new Set(slots).size === slots.length) return [];
    const message = `the server shows slots ${slots.join(', ')} held, of ${header.limit}`;
    return [{ rule: 'server', at, message }];
  });
}
