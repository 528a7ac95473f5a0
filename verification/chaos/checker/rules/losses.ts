import type { Violation } from '../../../history/events.js';
import { endsAllTickets } from '../../history/fault-kinds.js';
import { SLACK } from '../precision.js';
import { type Hold, isStruck, type RunRecord, stoodStill, touching } from '../run-record.js';

/** A holder whose ticket a fault took is notified, at the latest when its lease ends. */
export function checkTold({ faults, holds, life, header }: RunRecord): Violation[] {
  const ending = faults.filter((fault) => endsAllTickets(fault, life));
  return holds.flatMap((hold) => {
    const { id, granted, end, release, released } = hold;
    for (const { kind, from, to } of touching(ending, granted, end)) {
      if (granted >= from) continue;
      const confirmed = released?.result === true && (release?.invoked ?? 0) > to;
      if (end <= to + header.ttl + SLACK && !confirmed) continue;
      const message = `${id} was still believed in ${Math.round(end - to)} ms after ${kind} took its ticket`;
      return [{ rule: 'lost-silently', at: end, message }];
    }
    return [];
  });
}

/** Loss comes when the certainty ends: not before, and not much later where the process can run. */
export function checkLossTime(run: RunRecord): Violation[] {
  return run.holds.flatMap((hold) => {
    const { id, until } = hold;
    const [lost] = hold.losses;
    if (lost?.reason === 'expired' && lost.at < until - 5) {
      const message = `${id} was lost as expired ${Math.round(until - lost.at)} ms before its lease ended`;
      return [{ rule: 'lost-early', at: lost.at, message }];
    }
    const told = firstWord(hold) ?? Infinity;
    const known = Math.min(told, run.lastWritten.get(hold.process) ?? 0);
    const stalled = stoodStill(run, hold.process, until - SLACK, known);
    if (known <= until + SLACK || stalled) return [];
    const message = `${id} was not notified that its lease had ended, ${Math.round(known - until)} ms before`;
    return [{ rule: 'lost-late', at: known, message }];
  });
}

/**
 * A reply is older than the moment at which its holder hears it: no holder is certain for longer
 * than a ttl.
 */
export function checkCertainty({ header, holds }: RunRecord): Violation[] {
  return holds.flatMap(({ id, certain, readings, granted }) => {
    const words = [{ at: granted, until: certain }, ...readings];
    const word = words.find(({ at, until }) => until > at + header.ttl);
    if (word === undefined) return [];
    const message = `${id} was certain for ${Math.round(word.until - word.at)} ms, with a ttl of ${header.ttl} ms`;
    return [problem('certainty', word.at, message)];
  });
}

/** When its holder first knew, or said, that the ticket was not held any longer. */
function firstWord({ losses, readings, release }: Hold): number | undefined {
  const unheld = readings.find(({ held }) => !held)?.at;
  const times = [losses[0]?.at, unheld, release?.invoked].filter((at) => at !== undefined);
  return times.length === 0 ? undefined : Math.min(...times);
}

/** A ticket is lost once at most, never after `release()`, and never held again after its end. */
export function checkLostOnce({ holds }: RunRecord): Violation[] {
  return holds.flatMap(({ id, losses, readings, release }) => {
    const [, second] = losses;
    const late = losses.find(({ at }) => at > (release?.invoked ?? Infinity));
    const unheld = readings.findIndex(({ held }) => !held);
    const again = unheld === -1 ? undefined : readings.slice(unheld).find(({ held }) => held);
    const afterLoss = readings.find(({ held, at }) => held && at > (losses[0]?.at ?? Infinity));
    if (second !== undefined) return [problem('lost-once', second.at, `${id} was lost twice`)];
    if (late !== undefined) {
      return [problem('lost-once', late.at, `${id} was lost after its release`)];
    }
    const believed = again ?? afterLoss;
    if (believed === undefined) return [];
    return [problem('held-again', believed.at, `${id} was held again after it was not`)];
  });
}

/** No holder loses a permit while nothing is wrong. */
export function checkCause(run: RunRecord): Violation[] {
  return run.holds.flatMap(({ id, process, losses }) => {
    const [lost] = losses;
    if (lost === undefined || lost.reason === 'closed') return [];
    if (isStruck(run, process, lost.at)) return [];
    return [problem('cause', lost.at, `${id} was lost (${lost.reason}) while nothing was wrong`)];
  });
}

function problem(rule: string, at: number, message: string): Violation {
  return { rule, at, message };
}
