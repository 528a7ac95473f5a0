/** Bounds of how long one node is waited for. */
export const MIN_NODE_TIMEOUT_MS = 50;
export const MAX_NODE_TIMEOUT_MS = 1000;

/** How long one node may take for a call about tickets that live so long, in milliseconds. */
export function nodeTimeout(ttl: number): number {
  return Math.min(Math.max(ttl / 10, MIN_NODE_TIMEOUT_MS), MAX_NODE_TIMEOUT_MS);
}
