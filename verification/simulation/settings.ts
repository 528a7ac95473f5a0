import type { FaultKind } from './faults/kinds.js';

/** What of a run can be chosen; the rest follows from the seed. */
export interface Settings {
  readonly seed: number;
  /** Virtual minutes for which faults strike. */
  readonly minutes: number;
  readonly processes: number;
  readonly faults: readonly FaultKind[];
  /** Independent masters; 1: one server. */
  readonly nodes: number;
  /** The list of nodes is changed while all runs: one of them for another, by way of both lists. */
  readonly moved?: boolean;
  /** Requests have groups with weights, and priorities. */
  readonly groups?: boolean;
  /** Most requests have a group that was never used before. */
  readonly newcomers?: boolean;
  /** Requests have groups, a rate, budgets and a group limit, which change; one server. */
  readonly budgets?: boolean;
  /** Half of the processes have a keeper, in a thread that stalls by itself. */
  readonly keeper?: boolean;
  /** The mean time between two calls of a caller in seconds; left out: drawn from the seed. */
  readonly pace?: number;
  /** Numbers of the faults in the seed's plan that strike; left out: all. */
  readonly only?: readonly number[];
  /** Numbers of the processes that are left out; none by default. */
  readonly without?: readonly number[];
}
