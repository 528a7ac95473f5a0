import type { Violation } from '../../../history/events.js';
import type { Hold, RunRecord } from '../run-record.js';
import { type Span, SpanIndex } from '../span-index.js';
import { tokenEpochs } from '../token-epochs.js';

/** Looks at the server in a row that all showed a request in the queue. */
interface Wait {
  readonly since: number;
  readonly lastLook: number;
}

/**
 * No later request is granted earlier. That a request stood in the queue until it was granted
 * is known from the looks at the server, and the order of grants is that of the tokens.
 */
export function checkOrder(run: RunRecord): Violation[] {
  if (!run.header.ordered) return [];
  const upsets = new SpanIndex<Span>(run.faults.filter(upsetsQueue));
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
 * For each request the last time that it was in the queue; what may have taken it out in between
 * begins a new one.
 */
function lastWaits(run: RunRecord, upsets: SpanIndex<Span>): Map<string, Wait> {
  const waits = new Map<string, Wait>();
  for (const [look, { at, waiters }] of run.seen.entries()) {
    const since = run.seen[look - 1]?.asked ?? 0;
    const upset = upsets.touches(since, at) || mayLapse(run, since, at);
    for (const id of waiters) {
      const before = waits.get(id);
      const goesOn = before?.lastLook === look - 1 && !upset;
      waits.set(id, { since: goesOn ? before.since : at, lastLook: look });
    }
  }
  return waits;
}

/** Whether a grant can have come, and gone unclaimed, between two looks at the server. */
function mayLapse({ header: { ttl, claim } }: RunRecord, asked: number, at: number): boolean {
  return at - asked >= Math.min(ttl, claim);
}

/**
 * Data lost, or a clock that ends the leases of waiters: they return to their place when
 * they ask again.
 */
function upsetsQueue({ kind }: RunRecord['faults'][number]): boolean {
  return ['flush-data', 'delete-key', 'step-clock', 'fail-over', 'restart-empty'].includes(kind);
}

/**
 * It may have left the queue otherwise: dropped while its process stood still, or granted before,
 * and not claimed.
 */
function endedByGrant(
  { lastLook }: Wait,
  hold: Hold,
  run: RunRecord,
  upsets: SpanIndex<Span>,
): boolean {
  const asked = run.seen[lastLook]?.asked ?? 0;
  if (upsets.touches(asked, hold.granted)) return false;
  const next = run.seen[lastLook + 1];
  if (next === undefined || next.at >= hold.granted) return !mayLapse(run, asked, hold.granted);
  return next.holders.some(({ id, token }) => id === hold.id && token === hold.token);
}
