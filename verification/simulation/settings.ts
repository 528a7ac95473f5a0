import type { FaultKind } from './faults/kinds.js';

/** Kinds of runs: options of the command, whose help explains them. */
export const KINDS = ['moved', 'groups', 'newcomers', 'budgets', 'keeper'] as const;

export type Kind = (typeof KINDS)[number];

type Kinds = { readonly [_ in Kind]?: true };

/** The choices of a run; the rest follows from the seed. */
export interface Settings extends Kinds {
  readonly seed: number;
  /** Virtual minutes for which faults strike. */
  readonly minutes: number;
  readonly processes: number;
  readonly faults: readonly FaultKind[];
  /** Independent masters; 1: one server. */
  readonly nodes: number;
  /** The mean time between two calls of a caller in seconds; left out: drawn from the seed. */
  readonly pace?: number | undefined;
  /** Numbers of the faults in the seed's plan that strike; left out: all. */
  readonly only?: readonly number[] | undefined;
}
