import { parseArgs } from 'node:util';
import { parseDuration } from './amounts.js';
import { unexpected, UsageError } from './failure.js';
import { optionsOf, synopsisOf } from './help.js';

/** The words that a user wrote after the command's name. */
export class Arguments {
  readonly positionals: readonly string[];
  /** The command line after `--`; undefined without `--`. */
  readonly command: readonly string[] | undefined;
  readonly #values: Readonly<Record<string, unknown>>;

  /** @throws {UsageError} if they are not as the help of the command says */
  constructor(command: string, argv: readonly string[]) {
    const [own, rest] = splitAtDashes(argv);
    const { values, positionals } = parse(command, own);
    const synopsis = synopsisOf(command);
    const takesCommand = synopsis.includes(' -- COMMAND');
    this.#values = values;
    // After `--` a name may begin with a dash.
    this.positionals = takesCommand ? positionals : [...positionals, ...(rest ?? [])];
    this.command = takesCommand ? rest : undefined;
    const names = synopsis.replace(/ -- COMMAND.*|\[OPTION…\] ?/g, '').match(/\[.*?\]|\S+/g) ?? [];
    const least = names.filter((name) => !name.startsWith('[')).length;
    const given = this.positionals.length;
    if (given >= least && given <= names.length) return;
    throw new UsageError(`expected: redsem ${command} ${synopsis}`);
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

function parse(command: string, argv: readonly string[]) {
  const options = Object.fromEntries(optionsOf(command).map((option) => [option.name, option]));
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // Node's advice on values with a dash is longer than the error.
    const [message] = error.message.split(/\.\s/);
    throw new UsageError(`${message}; see redsem ${command} --help`);
  }
}

/** Runs a command; resolves with the exit code, undefined: 0. */
export type Command = (args: Arguments) => Promise<number | void>;
