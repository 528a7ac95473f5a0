import type { FullVerdict, OverVerdict } from '../backends/backend.js';
import type { CallTerms } from '../calling/call-terms.js';
import { QueueFullError } from '../errors.js';
import { tooManyPermits } from '../options.js';

/** Why a request may not even wait. */
export function refusal(
  verdict: OverVerdict | FullVerdict,
  permits: number,
  { name, maxWaiting = 0 }: CallTerms,
): Error {
  if (verdict.kind === 'over') return tooManyPermits(name, permits, verdict.limit);
  return new QueueFullError({ name, position: verdict.waiting, limit: maxWaiting });
}
