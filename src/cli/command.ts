import type { Arguments, Options } from './arguments.js';

export interface Command {
  readonly name: string;
  /** What follows the name in the first line of its help. */
  readonly synopsis: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  readonly description: string;
  readonly options: Options;
  /** Pairs of a command line and what it does. */
  readonly examples: readonly (readonly [string, string])[];
  /** How many arguments it takes beside its options. */
  readonly arguments: readonly [min: number, max: number];
  /** Whether `--` and a command line follow. */
  readonly takesCommand?: boolean;
  /** Resolves with the exit code. */
  run(args: Arguments): Promise<number>;
}
