import type { HolderState } from './backends/backend.js';

/** The permits that each group holds. '' is the group of holders that named none. */
export function heldByGroup(holders: readonly HolderState[]): Map<string, number> {
  const held = new Map<string, number>();
  for (const { group = '', slots } of holders) {
    held.set(group, (held.get(group) ?? 0) + slots.length);
  }
  return held;
}
