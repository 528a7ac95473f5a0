import type { Violation } from '../../../history/events.js';
import type { Hold, RunRecord } from '../run-record.js';
import { certainParts } from '../uncertain-holds.js';

/** Never more permits held at once than the limit, and no slot by two holders. */
export function checkLimit(run: RunRecord): Violation[] {
  const { limit } = run.header;
  const holding = new Set<Hold>();
  return stepsOf(run).flatMap(({ at, begins, hold }) => {
    if (!begins) {
      holding.delete(hold);
      return [];
    }
    const others = [...holding];
    holding.add(hold);
    const depth = [...holding].reduce((sum, { slots }) => sum + slots.length, 0);
    if (depth > limit) {
      const ids = [...holding].map(({ id }) => id).join(', ');
      return [{ rule: 'limit', at, message: `${depth} of ${limit} permits are held: ${ids}` }];
    }
    const taken = hold.slots.filter((slot) => others.some(({ slots }) => slots.includes(slot)));
    if (taken.length === 0) return [];
    const message = `slots ${taken.join(', ')} of ${hold.id} have another holder`;
    return [{ rule: 'slots', at, message }];
  });
}

/** A hold that ends at the moment at which another begins does not overlap it. */
function stepsOf(run: RunRecord) {
  const partsOf = certainParts(run);
  const steps = run.holds.flatMap((hold) =>
    partsOf(hold).flatMap(({ from, to }) => [
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
