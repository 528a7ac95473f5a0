export interface WorkArguments {
  /** How many waiters, tickets and permits there are, one run after another. */
  readonly sizes: readonly number[];
}

/** How often the blocks of the program ran, for each kind of load. */
export interface Work {
  readonly waiters: number;
  readonly tickets: number;
  readonly permits: number;
}
