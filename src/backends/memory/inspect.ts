import type * as port from '../backend.js';
import { inOrderOfGrants } from '../request-order.js';
import { timeOf } from './order.js';
import { showRate } from './rate.js';
import type { Semaphore } from './semaphore.js';
import { purge } from './semaphore.js';
import { isAlive } from './serve.js';
import { slotsOf } from './slots.js';

/** What a semaphore holds. Changes nothing but that what has expired goes. */
export function inspect(s: Semaphore, call: port.InspectCall, now: number): port.InspectReply {
  purge(s, now);
  const rate = showRate(s, call.rate, now);
  const { tickets, slots, requests, flows } = s.keys;
  const holders = [...tickets.values()].map(({ id, ranges, fencingToken, expiresAt, label }) => {
    const heldFor = Math.max(0, now - fencingToken / 1000);
    return { id, slots: slotsOf(ranges), fencingToken, expiresIn: expiresAt - now, heldFor, label };
  });
  const standings = [...requests.values()].map((r) => {
    const { isParked: parked } = r;
    return { ...r, parked, tag: flows.get(r.flow)?.tag, living: isAlive(s, r, now) };
  });
  const waiters = inOrderOfGrants(standings, (priority) => timeOf(s, priority)).map(
    ({ id, permits, arrival, label, order }, position) => {
      const waitingFor = Math.max(0, now - arrival / 1000);
      return { id, permits, position, waitingFor, label, ...order };
    },
  );
  const counts = { held: slots.held, waiting: waiters.length };
  return { ...limitOf(s, call), ...(rate && { rate }), ...counts, holders, waiters };
}

function limitOf({ stored, configured }: Semaphore, call: port.InspectCall) {
  if (stored !== undefined) return { limit: stored, limitFrom: 'setLimit' } as const;
  if (configured !== 0) return { limit: configured, limitFrom: 'caller' } as const;
  return { limit: call.limit, limitFrom: 'options' } as const;
}
