import type { Reply } from '../backends/backend.js';
import type { Instant } from '../time/clock.js';
import type { CallTerms } from './call-terms.js';
import type { GrantDispatch } from './grant-dispatch.js';

/** Takes from every reply what it says beside its answers: the server's time, the limit that counts, and grants. */
export class ReplyIntake {
  readonly #dispatch: GrantDispatch;

  constructor(dispatch: GrantDispatch) {
    this.#dispatch = dispatch;
  }

  /** `sent`: the moment before the call left. */
  observe(terms: CallTerms, sent: Instant, reply: Reply): void {
    terms.serverClock.observe(sent, reply.serverTime);
    terms.limit = reply.storedLimit;
    if (reply.otherLimit !== undefined) terms.noteOtherLimit(reply.otherLimit);
    if (reply.grants.length > 0) this.#dispatch.onGrants(terms.key, reply.grants);
  }
}
