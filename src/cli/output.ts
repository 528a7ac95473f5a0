import { writeSync } from 'node:fs';

/** Exit code of a program that writes into a pipe that nobody reads any more: 128 + SIGPIPE. */
const BROKEN_PIPE = 141;

/** Writes to stdout and waits until it is out. Where nobody reads any more, the program ends. */
export function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.once('error', ignore);
    process.stdout.write(text, (error: NodeJS.ErrnoException | null | undefined) => {
      if (error?.code === 'EPIPE') process.exit(BROKEN_PIPE);
      if (error !== null && error !== undefined) return reject(error);
      process.stdout.off('error', ignore);
      resolve();
    });
  });
}

/** The event comes after the callback, which has the same error. */
function ignore(): void {}

/**
 * Writes a message to stderr, beside `process.stderr`: that would set the pipe, which the command of `run` shares, to
 * non-blocking.
 */
export function complain(message: string): void {
  try {
    writeSync(2, `redsem: ${printable(message)}\n`);
  } catch {
    // Nobody reads it.
  }
}

/** Names and labels are anybody's: control characters must not reach a terminal. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
    (sign) => `\\u${(sign.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );
}
