import { clientOf, type Violation } from '../../../history/events.js';
import { SLACK } from '../precision.js';
import { type Hold, isStruck, type RunRecord, type Span, touching } from '../run-record.js';

/** Keys that stay for a day, for the tokens; the second is a quorum's. */
const REMEMBERED = new Set(['info', 'qmeta']);

/** One grant as the reads of the server show it. */
interface Sighting {
  readonly id: string;
  readonly token: number;
  readonly first: number;
  /** When the last read that shows it was sent. */
  readonly last: number;
}

/** Nothing is left when all have closed, and no ticket outlives its holder and its caller. */
export function checkPhantoms(run: RunRecord): Violation[] {
  return [...checkFinal(run), ...checkSightings(run)];
}

function checkFinal({ final }: RunRecord): Violation[] {
  if (final === undefined) return [];
  const { at, held, waiting, keys } = final;
  const left = (keys ?? []).filter((key) => !REMEMBERED.has(key));
  if (held === 0 && waiting === 0 && left.length === 0) return [];
  const message = `at the end ${held} permits are held, ${waiting} requests wait, keys: ${left.join(', ')}`;
  return [{ rule: 'phantom', at, message }];
}

function checkSightings(run: RunRecord): Violation[] {
  const holds = new Map(run.holds.map((hold) => [hold.id, hold]));
  const setBack = run.faults.filter(({ kind, step = 0 }) => kind === 'step-clock' && step < 0);
  const revived = run.faults.filter(({ kind }) => kind === 'fail-over');
  const lastEnd = ends(run);
  return sightingsOf(run).flatMap(({ id, token, first, last }) => {
    const hold = holds.get(id);
    const gone = goneFor(hold);
    if (
      hold !== undefined &&
      gone !== undefined &&
      last > gone &&
      touching(revived, gone, last).length === 0
    ) {
      const since = `${Math.round(last - gone)} ms after its release was confirmed`;
      if (token === hold.token) return [phantom(id, last, since)];
      // A try that was given up may run late, or twice; its reply, once heard, gives the new grant
      // back.
      if (!isStruck(run, hold.process, first)) return [phantom(id, last, `again, ${since}`)];
    }
    const idleSince =
      token === hold?.token ? hold.end : Math.max(hold?.end ?? 0, lastEnd(id, first));
    let life = run.life + SLACK;
    // A clock that goes back gives the dead that much more life.
    const since = hold?.granted ?? first - life;
    for (const { step = 0 } of touching(setBack, since, last)) life -= step;
    if (last <= idleSince + life) return [];
    return [phantom(id, last, `${Math.round(last - idleSince)} ms after its last holder`)];
  });
}

/**
 * When the last request ended that may have been the request of that id at that moment; the moment
 * itself if there was none. A process that has not heard of its grant asks again, which keeps it.
 */
function ends({ calls, holds, lastWritten }: RunRecord): (id: string, at: number) => number {
  // All ids of a process begin with the same name.
  const processes = new Map(holds.map(({ id, process }) => [clientOf(id), process]));
  const asked = calls.filter(({ operation }) => operation === 'acquire' || operation === 'try');
  const waits = new Map<string, Span[]>();
  for (const { process, invoked: from, settled } of asked) {
    const own = waits.get(process) ?? [];
    waits.set(process, own);
    own.push({ from, to: settled?.at ?? lastWritten.get(process) ?? from });
  }
  return (id, at) => {
    const own = waits.get(processes.get(clientOf(id)) ?? '') ?? [];
    return Math.max(at, ...touching(own, at, at).map(({ to }) => to));
  };
}

/** From when on a ticket must be gone: a release that finds it lost leaves it to its expiry. */
function goneFor(hold: Hold | undefined): number | undefined {
  return hold?.released?.result === true ? hold.released.at : undefined;
}

function sightingsOf({ seen }: RunRecord): Sighting[] {
  const sightings = new Map<string, Sighting>();
  for (const { at, asked, holders } of seen) {
    for (const { id, token } of holders) {
      const key = `${id} ${token}`;
      const first = sightings.get(key)?.first ?? at;
      sightings.set(key, { id, token, first, last: asked });
    }
  }
  return [...sightings.values()];
}

function phantom(id: string, at: number, message: string): Violation {
  return { rule: 'phantom', at, message: `${id} is still a ticket ${message}` };
}
