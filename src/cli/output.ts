import { writeSync } from 'node:fs';
import { getSystemErrorMap } from 'node:util';
import { withoutCredentials } from '../arguments/shown.js';
import { EXIT, Failure } from './failure.js';

/** Exit code of a program that writes into a pipe without a reader: 128 + SIGPIPE. */
const BROKEN_PIPE = 141;

/**
 * Writes to stdout and waits until it is out. Where the reader has gone, the program ends.
 * @throws {Failure} where it cannot be written, as on a full disk
 */
export function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.once('error', ignore);
    process.stdout.write(text, (error: NodeJS.ErrnoException | null | undefined) => {
      if (error?.code === 'EPIPE') process.exit(BROKEN_PIPE);
      if (error !== null && error !== undefined) return reject(cannotWrite(error));
      process.stdout.off('error', ignore);
      resolve();
    });
  });
}

/** Says on a terminal that something was done; programs see that by the exit code. */
export async function confirm(message: string): Promise<void> {
  if (process.stdout.isTTY) await print(`${printable(message)}\n`);
}

function cannotWrite(error: NodeJS.ErrnoException): Failure {
  const why = getSystemErrorMap().get(error.errno ?? 0)?.[1] ?? error.message;
  return new Failure(EXIT.cannotWrite, `cannot write: ${why}`, error);
}

/** The event comes after the callback, which has the same error. */
function ignore(): void {}

/**
 * Writes a message to stderr, beside `process.stderr`: that would set the pipe, which the command
 * of `run` shares, to non-blocking.
 */
export function complain(message: string): void {
  try {
    writeSync(2, `redsem: ${printable(withoutCredentials(message))}\n`);
  } catch {
    // It has no reader.
  }
}

/**
 * Names and labels may hold any text: no invisible character and no control character of a terminal
 * may reach it. The joiner U+200D is left, because emoji are made with it.
 */
export function printable(text: string): string {
  return text.replace(/(?!\u200d)[\p{Cc}\p{Cf}\u2028\u2029]/gu, escaped);
}

/** As lines of JSON, in which nothing but the line breaks is a control character. */
export function jsonText(value: unknown): string {
  const lines = JSON.stringify(value, null, 2).split('\n');
  return lines.map((line) => `${printable(line)}\n`).join('');
}

/** Says what went wrong; resolves with the exit code. */
export async function report(error: unknown): Promise<number> {
  // The help needs no library.
  const isFailure = error instanceof Failure || (await import('../index.js')).isRedsemError(error);
  complain(isFailure ? error.message : String((error instanceof Error && error.stack) || error));
  if (error instanceof Failure) return error.exitCode;
  return isFailure ? EXIT.unavailable : EXIT.internal;
}

/** In the way of JSON: one escape for each UTF-16 unit. */
function escaped(sign: string): string {
  const units = Array.from({ length: sign.length }, (_, i) => sign.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
