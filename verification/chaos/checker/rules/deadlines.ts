import type { Violation } from '../../../history/events.js';
import { CALL_LIMIT, SLACK } from '../precision.js';
import { type Call, type RunRecord, stoodStill } from '../run-record.js';

/** No call outlives its own time, whatever the server and the network do. */
export function checkDeadlines(run: RunRecord): Violation[] {
  return run.calls.flatMap((call) => {
    const { process, invoked, operation } = call;
    const known = call.settled?.at ?? run.lastWritten.get(process) ?? invoked;
    const late = known - invoked - timeOf(call, run);
    if (late <= SLACK || stoodStill(run, process, invoked, known)) return [];
    const message = `${operation} ${process} ${call.call} is ${Math.round(late)} ms beyond its time`;
    return [{ rule: 'deadline', at: known, message }];
  });
}

function timeOf({ operation, timeout }: Call, { header, life }: RunRecord): number {
  if (operation === 'acquire') return timeout ?? Infinity;
  // An extension is tried again for as long as the lease lasts.
  return operation === 'extend' ? life : Math.min(header.ttl, CALL_LIMIT);
}
