import type { HolderState } from '../../index.js';
import { parseChange } from '../arguments.js';
import type { Operator, SemaphoreSummary } from '../operator.js';
import { limitText } from '../permits.js';

/** A change that the user confirms by the answer to a question. */
export interface Action {
  readonly question: string;
  /** Whether the answer is a number; else it is y or n. */
  readonly takesNumber?: boolean;
  /** Resolves with the message about the outcome. */
  readonly perform: (typed: string) => Promise<string>;
}

export function revoking(operator: Operator, name: string, { id, label }: HolderState): Action {
  return {
    question: `Take ticket ${id} from ${label}? y/N`,
    perform: async () =>
      (await operator.change(name, (own) => own.revoke(id)))
        ? `revoked ${id}`
        : `${id} was gone already`,
  };
}

export function limiting(operator: Operator, { name, limit }: SemaphoreSummary): Action {
  return {
    question: `New limit of ${name}, now ${limitText(limit)} (N, +N, -N; esc: leave it): `,
    takesNumber: true,
    perform: async (typed) => {
      const { isChange, count } = parseChange('limit', typed);
      if (!isChange) return setLimit(operator, name, count, `limit of ${name}: ${count}`);
      const now = await operator.change(name, (own) => own.addPermits(count));
      return `limit of ${name}: ${now}`;
    },
  };
}

export function pausing(
  operator: Operator,
  { name, limit }: SemaphoreSummary,
  paused: Map<string, number>,
): Action {
  return {
    question: `Pause ${name}? No request gets a permit. y/N`,
    perform: async () => {
      const done = await setLimit(operator, name, 0, `paused ${name}`);
      if (limit !== null) paused.set(name, limit);
      return done;
    },
  };
}

export function resuming(operator: Operator, name: string, limit: number): Action {
  return {
    question: `Resume ${name} with limit ${limit}? y/N`,
    perform: () => setLimit(operator, name, limit, `resumed ${name}`),
  };
}

async function setLimit(operator: Operator, name: string, limit: number, done: string) {
  await operator.change(name, (own) => own.setLimit(limit), limit);
  return done;
}
