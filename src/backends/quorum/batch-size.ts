import { CallTimeoutError } from '../../time/call-timeout.js';
import { parseTicketId } from '../ticket-id.js';
import { LateCallError } from './quorum-node.js';
import { type Answers, repliedIn } from './round.js';

/**
 * In one call, and so in one ticket: a node works on them for some 50 ms, in which it does nothing
 * else.
 */
export const MAX_PERMITS_PER_CALL = 10_000;

/** They are arguments of a script, and Lua's stack carries a few thousand. */
const MAX_TICKETS_PER_CALL = 100;

/**
 * How many permits one call is about: fewer where nodes could not do as many in the time that they
 * have.
 */
export class BatchSize {
  #permits = MAX_PERMITS_PER_CALL;

  /** In parts that are not too large, none of them empty. */
  split<T extends { readonly id: string }>(tickets: readonly T[]): T[][] {
    const parts: T[][] = [];
    let left = 0;
    for (const ticket of tickets) {
      const permits = permitsOf(ticket.id);
      const last = parts.at(-1);
      if (last === undefined || permits > left || last.length === MAX_TICKETS_PER_CALL) {
        parts.push([ticket]);
        left = this.#permits;
      } else last.push(ticket);
      left -= permits;
    }
    return parts;
  }

  /** Adapts to what became of a call about that many permits. */
  learn(permits: number, answers: Answers<unknown>): void {
    if (repliedIn(answers) !== 0) {
      if (2 * permits > this.#permits)
        this.#permits = Math.min(2 * this.#permits, MAX_PERMITS_PER_CALL);
    } else if (answers.errors.some(cameTooLate)) {
      this.#permits = Math.max(1, Math.min(this.#permits, Math.ceil(permits / 2)));
    }
  }
}

function cameTooLate(error: unknown): boolean {
  return error instanceof CallTimeoutError || error instanceof LateCallError;
}

export function permitsOf(id: string): number {
  return parseTicketId(id)?.permits ?? 1;
}
