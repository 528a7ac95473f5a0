import { parseArgs } from 'node:util';
import { quoted } from '../arguments/shown.js';
import { parseDuration } from './duration.js';
import { UsageError } from './failure.js';

export interface Option {
  readonly short?: string;
  /** The placeholder for the value in the help; left out for an option without one. */
  readonly value?: string;
  readonly multiple?: boolean;
  readonly help: string;
}

export type Options = Readonly<Record<string, Option>>;

/** What a user wrote after the command's name. */
export class Arguments {
  readonly positionals: readonly string[];
  /** The command line after `--`; undefined where there is none. */
  readonly command: readonly string[] | undefined;
  readonly #values: ReadonlyMap<string, unknown>;

  /**
   * @param takesCommand whether what follows `--` is a command to run; else a name that begins with
   *   a dash
   */
  constructor(argv: readonly string[], options: Options, takesCommand: boolean) {
    const end = argv.indexOf('--');
    const rest = end < 0 ? undefined : argv.slice(end + 1);
    const { values, positionals } = parse(end < 0 ? argv : argv.slice(0, end), options);
    this.#values = new Map(Object.entries(values));
    this.positionals = takesCommand ? positionals : [...positionals, ...(rest ?? [])];
    this.command = takesCommand ? rest : undefined;
  }

  flag(name: string): boolean {
    return this.#values.get(name) === true;
  }

  text(name: string): string | undefined {
    const value = this.#values.get(name);
    return typeof value === 'string' ? value : undefined;
  }

  texts(name: string): readonly string[] {
    const value = this.#values.get(name);
    return Array.isArray(value) ? value.map(String) : [];
  }

  /** In milliseconds. */
  duration(name: string): number | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : parseDuration(`--${name}`, text);
  }

  count(name: string, min: number, max: number = Number.MAX_SAFE_INTEGER): number | undefined {
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
  throw new UsageError(`${what}: expected a whole number, ${range}, got ${quoted(text)}`);
}

function parse(argv: readonly string[], options: Options) {
  const config = Object.fromEntries(
    Object.entries(options).map(([name, { short, value, multiple = false }]) => {
      const type: 'string' | 'boolean' = value === undefined ? 'boolean' : 'string';
      return [name, { type, multiple, ...(short !== undefined && { short }) }];
    }),
  );
  try {
    return parseArgs({ args: [...argv], options: config, allowPositionals: true, strict: true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // Node's advice on values with a dash is longer than the error.
    throw new UsageError(error.message.split(/\.\s/)[0] ?? error.message);
  }
}
