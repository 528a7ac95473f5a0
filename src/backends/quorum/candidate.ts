import type { AcquireVerdict, TicketRequest } from '../backend.js';
import type { Holding } from './quorum-node.js';

export type Progress =
  /** A round is under way, or what it won is not yet safe. */
  | 'open'
  | 'won'
  /** No node gave it anything. */
  | 'refused'
  /** Some nodes did, too few. */
  | 'split'
  /** It could not be tried, or what was won came too late. */
  | 'late';

/** One request on its way to a majority. */
export interface Candidate {
  readonly request: TicketRequest;
  /** Nobody wants it any more. */
  cancelled: boolean;
  progress: Progress;
  attempt: number;
  /** What each node holds for this attempt. */
  holdings: (Holding | undefined)[];
  slots: readonly number[];
  token: number;
  /** As in `Agreement`. */
  unanswered: number;
}

export function newCandidate(request: TicketRequest): Candidate {
  const nothing = { holdings: [], slots: [], token: 0, unanswered: 0 };
  return { request, cancelled: false, progress: 'open', attempt: 0, ...nothing };
}

export function verdictOn({ progress, request, slots, token }: Candidate): AcquireVerdict {
  if (progress === 'won') return { kind: 'granted', fencingToken: token, slots };
  if (request.wait) return { kind: 'queued', arrival: undefined };
  return progress === 'late' ? { kind: 'late' } : { kind: 'busy' };
}
