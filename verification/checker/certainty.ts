import { effectsOf, type FaultEffects } from '../history/fault-effects.js';
import type { FaultEvent } from '../history/events.js';

/** How well a history knows when things happened, and what the servers did. */
export interface Certainty {
  /** Milliseconds by which timers, replies and readings may be late. */
  readonly late: number;
  /** Milliseconds for which each fault may show for longer than its kind does by itself. */
  readonly echo: number;
  /** What a fault may cost; left out: the history has each answer of the server. */
  readonly effectsOf?: (fault: FaultEvent) => FaultEffects;
}

/** Virtual time, and each call as the server served it. */
export const EXACT: Certainty = { late: 0, echo: 0 };

/**
 * Processes on a busy machine, whose clients may need seconds to connect again, and servers that
 * are only looked at.
 */
export const MEASURED: Certainty = { late: 250, echo: 6000, effectsOf };
