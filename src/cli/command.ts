import type { Arguments, Options } from './arguments.js';

/** A line of a table in the help: a word and what it means. */
export type HelpRow = readonly [head: string, text: string];

export interface Command {
  /** What follows the name in the first line of its help. */
  readonly synopsis: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  readonly description: string;
  /** After the description, by their titles. */
  readonly tables?: Readonly<Record<string, readonly HelpRow[]>>;
  readonly options: Options;
  /** What it does, by the command line. */
  readonly examples: Readonly<Record<string, string>>;
  /** How many arguments it takes beside its options. */
  readonly arguments: readonly [min: number, max: number];
  /** Whether `--` and a command line follow. */
  readonly takesCommand?: boolean;
  /** Resolves with the exit code; left out: all went well. */
  run(args: Arguments): Promise<number | void>;
}
