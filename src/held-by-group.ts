import type { HolderState } from './backends/backend.js';

/** Permits that each group holds; '': holders without a group, which a limit counts as one. */
export function heldByGroup(holders: readonly HolderState[]): Map<string, number> {
  const held = new Map<string, number>();
  for (const { group = '', slots } of holders) {
    held.set(group, (held.get(group) ?? 0) + slots.length);
  }
  return held;
}
