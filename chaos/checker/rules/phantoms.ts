import { SLACK } from '../precision.js';
import type { Hold, RunRecord, Violation } from '../run-record.js';
import { SpanIndex } from '../span-index.js';

/** Parts of the keys that stay for a day, for the tokens; the second one is a quorum's. */
const REMEMBERED = new Set(['meta', 'qmeta']);

interface Sighting {
  readonly first: number;
  readonly last: number;
}

/** Nothing is left when all have closed, and no ticket outlives its holder's interest in it. */
export function checkPhantoms(run: RunRecord): Violation[] {
  return [...checkFinal(run), ...checkSightings(run)];
}

function checkFinal({ final }: RunRecord): Violation[] {
  if (final === undefined) return [];
  const { at, held, waiting, keys } = final;
  const left = keys.filter((key) => !REMEMBERED.has(key));
  if (held === 0 && waiting === 0 && left.length === 0) return [];
  const message = `at the end ${held} permits are held, ${waiting} requests wait, keys: ${left.join(', ')}`;
  return [{ rule: 'phantom', at, message }];
}

function checkSightings(run: RunRecord): Violation[] {
  const holds = new Map(run.holds.map((hold) => [hold.id, hold]));
  const steps = run.faults.filter(({ kind, step = 0 }) => kind === 'step-clock' && step < 0);
  const setBack = new SpanIndex(steps);
  const revived = new SpanIndex(run.faults.filter(({ kind }) => kind === 'fail-over'));
  return [...sightingsOf(run)].flatMap(([id, { first, last }]) => {
    const hold = holds.get(id);
    const gone = goneFor(hold);
    if (gone !== undefined && last > gone && !revived.touches(gone, last)) {
      return [phantom(id, last, `${Math.round(last - gone)} ms after its release was confirmed`)];
    }
    const idleSince = hold?.end ?? first;
    let life = run.life + SLACK;
    // A clock that goes back gives the dead that much more life.
    for (const { step = 0 } of setBack.touching(hold?.granted ?? first - life, last)) life -= step;
    if (last <= idleSince + life) return [];
    return [phantom(id, last, `${Math.round(last - idleSince)} ms after anyone had it`)];
  });
}

/** From when on a ticket must not be there: a release that found it lost leaves it to be withdrawn, or to expire. */
function goneFor(hold: Hold | undefined): number | undefined {
  return hold?.released?.released === true ? hold.released.at : undefined;
}

function sightingsOf({ seen }: RunRecord): Map<string, Sighting> {
  const sightings = new Map<string, Sighting>();
  for (const { at, asked, holders } of seen) {
    for (const { id } of holders) {
      sightings.set(id, { first: sightings.get(id)?.first ?? at, last: asked });
    }
  }
  return sightings;
}

function phantom(id: string, at: number, message: string): Violation {
  return { rule: 'phantom', at, message: `${id} is still a ticket ${message}` };
}
