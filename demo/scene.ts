import type { Board } from './board.js';
import type { Judge } from './judge.js';

/** The state that a view shows. */
export interface Scene {
  readonly board: Board;
  readonly judge: Judge;
}

export interface View {
  /** Shows the last state and leaves the terminal as it was. Idempotent. */
  end(): void;
}
