import type { FaultKind } from '../faults/kinds.js';
import type { Kind } from '../settings.js';

/** A bug that is put into the sources, to see whether the simulator finds it. */
export interface PlantedBug {
  readonly name: string;
  /** Where it comes from. */
  readonly origin: string;
  /** What is wrong. */
  readonly what: string;
  /** Where it is planted: a path below src. */
  readonly file: string;
  /** Must be there, once. */
  readonly find: string;
  readonly replace: string;
  /** Independent masters that it takes; default 1. */
  readonly nodes?: number;
  /** The kind of runs that it takes. */
  readonly kind?: Kind;
  /** The only faults that strike, for a bug that few of them bring to light; default: all. */
  readonly faults?: readonly FaultKind[];
}
