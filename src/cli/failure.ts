import { describe as describeCause } from '../error-causes.js';
import { EXIT } from './exit-code.js';

/** Ends the program with a message and an exit code; no stack is shown. */
export class Failure extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'Failure';
    this.exitCode = exitCode;
  }
}

export class UsageError extends Failure {
  constructor(message: string) {
    super(EXIT.usage, message);
    this.name = 'UsageError';
  }
}

/** The server cannot be reached, or refuses. */
export class UnavailableError extends Failure {
  constructor(message: string, cause?: unknown) {
    super(EXIT.unavailable, message, cause);
    this.name = 'UnavailableError';
  }
}

/** What the library refuses as an argument came from the command line. */
export function usageOf<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) {
      throw new UsageError(error.message);
    }
    throw error;
  }
}

/**
 * Whether a client gave up because of the time that it took; a host may have several addresses,
 * each with its error.
 */
export function isTimeout(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isTimeout);
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? error.code : undefined;
  return code === 'ETIMEDOUT' || error.message === 'Connection timeout';
}

/**
 * The text of an error; sockets give one without a message where every address of a host failed.
 */
export function describe(error: unknown): string {
  if (!(error instanceof Error)) return describeCause(error);
  // OpenSSL's message also names its source file and line.
  if ('library' in error && 'reason' in error && typeof error.reason === 'string') {
    return `TLS: ${error.reason}`;
  }
  return describeCause(error);
}
