import type { Violation } from '../../../history/events.js';
import { endsAllTickets } from '../../history/fault-kinds.js';
import { SLACK } from '../precision.js';
import { isStruck, type RunRecord, touching } from '../run-record.js';

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

/** No holder loses a permit while nothing is wrong. */
export function checkCause(run: RunRecord): Violation[] {
  return run.holds.flatMap(({ id, process, lost }) => {
    if (lost === undefined || lost.reason === 'closed') return [];
    if (isStruck(run, process, lost.at)) return [];
    const message = `${id} was lost (${lost.reason}) while nothing was wrong`;
    return [{ rule: 'cause', at: lost.at, message }];
  });
}
