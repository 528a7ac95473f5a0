import { clientOf, type Violation } from '../../../history/events.js';
import { Causes } from '../causes.js';
import { SLACK } from '../precision.js';
import type { Hold, RunRecord } from '../run-record.js';
import { type Span, SpanIndex } from '../span-index.js';

/** Parts of the keys that stay for a day, for the tokens; the second one is a quorum's. */
const REMEMBERED = new Set(['info', 'qmeta']);

/** One grant as the looks at the server show it. */
interface Sighting {
  readonly id: string;
  readonly token: number;
  readonly first: number;
  /** When the last look that shows it was asked for. */
  readonly last: number;
}

/** Nothing is left when all have closed, and no ticket outlives its holder's interest in it. */
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
  const steps = run.faults.filter(({ kind, step = 0 }) => kind === 'step-clock' && step < 0);
  const setBack = new SpanIndex(steps);
  const revived = new SpanIndex(run.faults.filter(({ kind }) => kind === 'fail-over'));
  const causes = new Causes(run);
  const requests = new Requests(run);
  return sightingsOf(run).flatMap(({ id, token, first, last }) => {
    const hold = holds.get(id);
    const gone = goneFor(hold);
    if (hold !== undefined && gone !== undefined && last > gone && !revived.touches(gone, last)) {
      const since = `${Math.round(last - gone)} ms after its release was confirmed`;
      if (token === hold.token) return [phantom(id, last, since)];
      // A try that was given up may run late, or twice; its reply, once heard, gives the new grant
      // back.
      if (!causes.struck(hold.process, first)) return [phantom(id, last, `again, ${since}`)];
    }
    const idleSince =
      token === hold?.token ? hold.end : Math.max(hold?.end ?? 0, requests.lastEnd(id, first));
    let life = run.life + SLACK;
    // A clock that goes back gives the dead that much more life.
    for (const { step = 0 } of setBack.touching(hold?.granted ?? first - life, last)) life -= step;
    if (last <= idleSince + life) return [];
    return [phantom(id, last, `${Math.round(last - idleSince)} ms after anyone had it`)];
  });
}

/**
 * When processes waited for permits: a process that has not heard of its grant asks again, which
 * keeps it.
 */
class Requests {
  readonly #byProcess: ReadonlyMap<string, SpanIndex<Span>>;
  /** A process's ids all begin alike. */
  readonly #processes: ReadonlyMap<string, string>;

  constructor({ calls, holds, lastWritten }: RunRecord) {
    this.#processes = new Map(holds.map(({ id, process }) => [clientOf(id), process]));
    const spans = new Map<string, Span[]>();
    for (const { process, operation, invoked: from, settled } of calls) {
      if (operation !== 'acquire' && operation !== 'try') continue;
      const own = spans.get(process) ?? [];
      own.push({ from, to: settled?.at ?? lastWritten.get(process) ?? from });
      spans.set(process, own);
    }
    this.#byProcess = new Map([...spans].map(([process, own]) => [process, new SpanIndex(own)]));
  }

  /**
   * When the last request ended that may have been the one with that id at that moment; the moment
   * itself if none was.
   */
  lastEnd(id: string, at: number): number {
    const process = this.#processes.get(clientOf(id)) ?? '';
    let end = at;
    for (const { to } of this.#byProcess.get(process)?.touching(at, at) ?? []) {
      end = Math.max(end, to);
    }
    return end;
  }
}

/**
 * From when on a ticket must not be there: a release that found it lost leaves it to be withdrawn,
 * or to expire.
 */
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
