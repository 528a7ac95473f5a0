import { writeSync } from 'node:fs';
import { getSystemErrorMap } from 'node:util';
import { withoutCredentials } from '../arguments/shown.js';
import { attempt, EXIT, Failure } from './failure.js';

/** Exit code of a program that writes into a pipe without a reader: 128 + SIGPIPE. */
const BROKEN_PIPE = 141;

/**
 * Writes to stdout and waits until the text is written. If the reader has gone, the program ends.
 * @throws {Failure} when the text cannot be written, as on a full disk
 */
export function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.once('error', ignore);
    process.stdout.write(text, (error: NodeJS.ErrnoException | null | undefined) => {
      if (error?.code === 'EPIPE') process.exit(BROKEN_PIPE);
      if (error) {
        const why = getSystemErrorMap().get(error.errno ?? 0)?.[1] ?? error.message;
        return reject(new Failure(EXIT.cannotWrite, `cannot write: ${why}`, error));
      }
      process.stdout.off('error', ignore);
      resolve();
    });
  });
}

/** Confirms a change on a terminal; a program sees it by the exit code. */
export async function confirm(message: string): Promise<void> {
  if (process.stdout.isTTY) await print(`${printable(message)}\n`);
}

/** The event comes after the callback, and has the same error. */
function ignore(): void {}

/**
 * Writes a message to stderr. `process.stderr` would make a pipe non-blocking, and the command of
 * `run` shares the pipe.
 */
export function complain(message: string): void {
  // It fails if the pipe has no reader.
  attempt(() => writeSync(2, `redsem: ${printable(withoutCredentials(message))}\n`));
}

/**
 * Escapes the characters that are invisible or control a terminal: names and labels may hold any
 * text. The joiner U+200D stays, because emoji need it.
 */
export function printable(text: string): string {
  return text.replace(/(?!\u200d)[\p{Cc}\p{Cf}\u2028\u2029]/gu, escaped);
}

/** JSON in lines, without control characters inside a line. */
export function jsonText(value: unknown): string {
  const lines = JSON.stringify(value, null, 2).split('\n');
  return lines.map((line) => `${printable(line)}\n`).join('');
}

/** Writes an error to stderr; resolves with the exit code. */
export async function report(error: unknown): Promise<number> {
  // The help needs no library.
  const isFailure = error instanceof Failure || (await import('../index.js')).isRedsemError(error);
  complain(isFailure ? error.message : String((error instanceof Error && error.stack) || error));
  if (error instanceof Failure) return error.exitCode;
  return isFailure ? EXIT.unavailable : EXIT.internal;
}

/** As in JSON: an escape for each UTF-16 unit. */
function escaped(sign: string): string {
  const units = Array.from({ length: sign.length }, (_, i) => sign.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
