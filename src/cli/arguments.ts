import { parseArgs } from 'node:util';
import { parseDuration } from './amounts.js';
import { unexpected, UsageError } from './failure.js';

/**
 * The help text of each option, by its form in the help: `-n, --limit N`. An option without a
 * placeholder takes no value. An option with an ellipsis at the end may be given several times.
 */
export type Options = Readonly<Record<string, string>>;

export interface Option {
  readonly name: string;
  readonly short: string | undefined;
  /** The placeholder for the value. */
  readonly value: string | undefined;
  readonly multiple: boolean;
  readonly help: string;
}

export function optionsIn(options: Options): Option[] {
  return Object.entries(options).map(([head, help]) => {
    const [, short, name = '', value, more] =
      /^(?:-(.), )?--([\w-]+)(?: ([^\s…]+))?( …)?$/.exec(head) ?? [];
    return { name, short, value, multiple: more !== undefined, help };
  });
}

/** The words that a user wrote after the command's name. */
export class Arguments {
  readonly positionals: readonly string[];
  /** The command line after `--`; undefined without `--`. */
  readonly command: readonly string[] | undefined;
  readonly #values: Readonly<Record<string, unknown>>;

  /**
   * @param takesCommand whether a command line follows `--`; else a name follows that may begin
   *   with a dash
   */
  constructor(argv: readonly string[], options: Options, takesCommand: boolean) {
    const [own, rest] = splitAtDashes(argv);
    const { values, positionals } = parse(own, options);
    this.#values = values;
    this.positionals = takesCommand ? positionals : [...positionals, ...(rest ?? [])];
    this.command = takesCommand ? rest : undefined;
  }

  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  text(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === 'string' ? value : undefined;
  }

  texts(name: string): readonly string[] {
    return [this.#values[name] ?? []].flat().map(String);
  }

  /** In milliseconds. */
  duration(name: string): number | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : parseDuration(`--${name}`, text);
  }

  count(name: string, min: number, max?: number): number | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : parseCount(`--${name}`, text, min, max);
  }
}

export function parseCount(
  what: string,
  text: string,
  min: number,
  max: number = Number.MAX_SAFE_INTEGER,
): number {
  const count = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (count >= min && count <= max) return count;
  const range = max === Number.MAX_SAFE_INTEGER ? `${min} or more` : `${min} to ${max}`;
  throw unexpected(what, `a whole number, ${range}`, text);
}

/** `5`, or a change of the number before: `+5`, `-5`. */
export function parseChange(what: string, text: string): { isChange: boolean; count: number } {
  const sign = /^[+-]/.exec(text)?.[0] ?? '';
  const count = parseCount(what, text.slice(sign.length), 0);
  return { isChange: sign !== '', count: sign === '-' ? -count : count };
}

/** The words before the first `--`, and after it. */
export function splitAtDashes(
  argv: readonly string[],
): readonly [own: readonly string[], rest?: readonly string[]] {
  const end = argv.indexOf('--');
  return end < 0 ? [argv] : [argv.slice(0, end), argv.slice(end + 1)];
}

function parse(argv: readonly string[], options: Options) {
  const config = Object.fromEntries(
    optionsIn(options).map(({ name, short, value, multiple }) => {
      const type: 'string' | 'boolean' = value === undefined ? 'boolean' : 'string';
      return [name, { type, multiple, ...(short !== undefined && { short }) }];
    }),
  );
  try {
    return parseArgs({ args: [...argv], options: config, allowPositionals: true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // Node's advice on values with a dash is longer than the error.
    throw new UsageError(error.message.split(/\.\s/)[0] ?? error.message);
  }
}

/** A line of a table in the help: a word and its meaning. */
export type HelpRow = readonly [head: string, text: string];

export interface Command {
  /** The arguments, as the first line of the help shows them. */
  readonly synopsis: string;
  /** A line for the list of commands. */
  readonly summary: string;
  readonly description: string;
  /** The tables after the description, by their titles. */
  readonly tables?: Readonly<Record<string, readonly HelpRow[]>>;
  readonly options: Options;
  /** The effect of each example, by its command line. */
  readonly examples: Readonly<Record<string, string>>;
  /** How many arguments the command takes beside its options. */
  readonly arguments: readonly [min: number, max: number];
  /** Whether `--` and a command line follow. */
  readonly takesCommand?: boolean;
  /** Resolves with the exit code; undefined: 0. */
  run(args: Arguments): Promise<number | void>;
}
