import type { HolderState } from '../../index.js';
import { parseCount } from '../arguments.js';
import type { Operator, SemaphoreSummary } from '../operator.js';

/** What a user may change here, once a question is answered. */
export type Action =
  | { readonly kind: 'revoke'; readonly name: string; readonly holder: HolderState }
  /** Its answer is a number; all others are answered by y or n. */
  | { readonly kind: 'limit'; readonly name: string; readonly limit: number | null }
  | { readonly kind: 'pause'; readonly name: string }
  | { readonly kind: 'resume'; readonly name: string; readonly limit: number };

/** @param before the limit that it had when it was paused, where that was seen */
export function pauseOrResume(
  { name, limit }: SemaphoreSummary,
  before: number | undefined,
): Action {
  if (limit !== 0) return { kind: 'pause', name };
  if (before === undefined) return { kind: 'limit', name, limit };
  return { kind: 'resume', name, limit: before };
}

export function questionOf(action: Action): string {
  const { name } = action;
  if (action.kind === 'revoke') {
    return `Take ticket ${action.holder.id} from ${action.holder.label}? y/N`;
  }
  if (action.kind === 'pause') return `Pause ${name}? Nobody new gets a permit. y/N`;
  if (action.kind === 'resume') return `Resume ${name} with limit ${action.limit}? y/N`;
  return `New limit of ${name}, now ${action.limit ?? 'unknown'} (N, +N, -N; esc: leave it): `;
}

/**
 * Does it and resolves with what came of it.
 * @param typed the answer, where it is not y
 */
export async function perform(operator: Operator, action: Action, typed: string): Promise<string> {
  const { name } = action;
  if (action.kind === 'revoke') {
    const { id } = action.holder;
    return (await operator.revoke(name, id)) ? `revoked ${id}` : `${id} was gone already`;
  }
  if (action.kind === 'pause') {
    await operator.setLimit(name, 0);
    return `paused ${name}`;
  }
  if (action.kind === 'resume') {
    await operator.setLimit(name, action.limit);
    return `resumed ${name}`;
  }
  return `limit of ${name}: ${await changeLimit(operator, name, typed)}`;
}

async function changeLimit(operator: Operator, name: string, typed: string): Promise<number> {
  const sign = /^[+-]/.exec(typed)?.[0];
  const count = parseCount('limit', typed.slice(sign?.length ?? 0), 0);
  if (sign !== undefined) return operator.addPermits(name, sign === '-' ? -count : count);
  await operator.setLimit(name, count);
  return count;
}
