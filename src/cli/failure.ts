import { quoted } from '../arguments/shown.js';
import { describe as describeCause } from '../error-causes.js';

/** Exit codes of `redsem` itself; 64 to 75 as in sysexits.h, 126 and 127 as shells give them. */
export const EXIT = {
  ok: 0,
  /** `revoke`: there is no such ticket. */
  noSuchTicket: 1,
  usage: 64,
  /** The server cannot be reached or refuses. */
  unavailable: 69,
  /** An error of this program. */
  internal: 70,
  /** The output cannot be written. */
  cannotWrite: 74,
  /** `run`: no permit in time. */
  notAcquired: 75,
  /** `run`: the permit was lost. The first code that sysexits.h leaves free. */
  lost: 79,
  cannotRun: 126,
  notFound: 127,
} as const;

/** Ends the program with a message and an exit code; no stack is shown. */
export class Failure extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = new.target.name;
    this.exitCode = exitCode;
  }
}

export class UsageError extends Failure {
  constructor(message: string) {
    super(EXIT.usage, message);
  }
}

/** An argument that is not as expected. */
export function unexpected(option: string, expected: string, text: string): UsageError {
  return new UsageError(`${option}: expected ${expected}, got ${quoted(text)}`);
}

/** An argument that the library refuses is an error of usage. */
export function throwAsUsage(error: unknown): never {
  const isRefusal = error instanceof TypeError || error instanceof RangeError;
  throw isRefusal ? new UsageError(error.message) : error;
}

/** The result of a call of the library with arguments from the command line. */
export function usageOf<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    return throwAsUsage(error);
  }
}

/** The result of a call; undefined if the call fails. */
export function attempt<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch {
    return undefined;
  }
}

/** Whether a client gave up after its time limit. A host may have an error for each address. */
export function isTimeout(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isTimeout);
  if (!(error instanceof Error)) return false;
  return codeOfError(error) === 'ETIMEDOUT' || error.message === 'Connection timeout';
}

/** The code of a system error. */
export function codeOfError(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** The text of an error, without the source file and line in messages of OpenSSL. */
export function describe(error: unknown): string {
  const isOpenSsl = error instanceof Error && 'library' in error && 'reason' in error;
  return isOpenSsl ? `TLS: ${String(error.reason)}` : describeCause(error);
}
