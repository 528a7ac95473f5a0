import type { Violation } from '../../../history/events.js';
import { type Hold, type RunRecord, type Span, touch } from '../run-record.js';
import { tokenEpochs } from '../token-epochs.js';

/** Reads of the server in a row that all showed a request in the queue. */
interface Wait {
  readonly since: number;
  readonly lastRead: number;
}

/**
 * No later request is granted earlier. The reads of the server show that a request stood in the
 * queue until its grant, and grants have the order of their tokens.
 */
export function checkOrder(run: RunRecord): Violation[] {
  if (!run.header.ordered) return [];
  const upsets = run.faults.filter(upsetsQueue);
  const waits = lastWaits(run, upsets);
  const isKnown = (hold: Hold, wait: Wait): boolean => endedByGrant(wait, hold, run, upsets);
  return tokenEpochs(run).flatMap((holds) => checkEpoch(holds, waits, isKnown));
}

function checkEpoch(
  holds: readonly Hold[],
  waits: ReadonlyMap<string, Wait>,
  isKnown: (hold: Hold, wait: Wait) => boolean,
): Violation[] {
  let earliest: { readonly id: string; readonly since: number } | undefined;
  return holds
    .toSorted((a, b) => b.token - a.token)
    .flatMap((hold) => {
      const passed = earliest;
      const wait = waits.get(hold.id);
      if (wait !== undefined && wait.since < (earliest?.since ?? Infinity)) {
        if (isKnown(hold, wait)) earliest = { id: hold.id, since: wait.since };
      }
      if (passed === undefined || passed.since >= hold.invoked) return [];
      const message = `${hold.id} was granted before ${passed.id}, which was waiting before it was asked for`;
      return [{ rule: 'order', at: hold.granted, message }];
    });
}

/**
 * The last wait of each request: an event that may have taken it out of the queue begins another.
 */
function lastWaits(run: RunRecord, upsets: readonly Span[]): Map<string, Wait> {
  const waits = new Map<string, Wait>();
  for (const [read, { at, waiters }] of run.seen.entries()) {
    const since = run.seen[read - 1]?.asked ?? 0;
    const upset = touch(upsets, since, at) || mayLapse(run, since, at);
    for (const id of waiters) {
      const before = waits.get(id);
      const goesOn = before?.lastRead === read - 1 && !upset;
      waits.set(id, { since: goesOn ? before.since : at, lastRead: read });
    }
  }
  return waits;
}

/** Whether a grant can have come, and gone unclaimed, between two reads of the server. */
function mayLapse({ header: { ttl, claim } }: RunRecord, asked: number, at: number): boolean {
  return at - asked >= Math.min(ttl, claim);
}

/** Waiters whose data or leases a fault took return to their place when they ask again. */
function upsetsQueue({ kind }: RunRecord['faults'][number]): boolean {
  return ['flush-data', 'delete-key', 'step-clock', 'fail-over', 'restart-empty'].includes(kind);
}

/**
 * Whether the grant ended the wait: otherwise the request was dropped while its process stood
 * still, or an earlier grant was not claimed.
 */
function endedByGrant(
  { lastRead }: Wait,
  hold: Hold,
  run: RunRecord,
  upsets: readonly Span[],
): boolean {
  const asked = run.seen[lastRead]?.asked ?? 0;
  if (touch(upsets, asked, hold.granted)) return false;
  const next = run.seen[lastRead + 1];
  if (next === undefined || next.at >= hold.granted) return !mayLapse(run, asked, hold.granted);
  return next.holders.some(({ id, token }) => id === hold.id && token === hold.token);
}
