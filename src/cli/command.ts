import type { Arguments, Options } from './arguments.js';

/** A line of a table in the help: a word and what it means. */
export type HelpRow = readonly [head: string, text: string];

export interface Command {
  readonly name: string;
  /** What follows the name in the first line of its help. */
  readonly synopsis: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  readonly description: string;
  /** After the description. */
  readonly tables?: readonly { readonly title: string; readonly rows: readonly HelpRow[] }[];
  readonly options: Options;
  /** Pairs of a command line and what it does. */
  readonly examples: readonly (readonly [string, string])[];
  /** How many arguments it takes beside its options. */
  readonly arguments: readonly [min: number, max: number];
  /** Whether `--` and a command line follow. */
  readonly takesCommand?: boolean;
  /**
   * Resolves with the exit code.
   * @param all every command there is
   */
  run(args: Arguments, all: Commands): Promise<number>;
}

/** Each is loaded only when it is needed: most programs need one, and shells start many. */
export type Commands = ReadonlyMap<string, () => Promise<Command>>;
