import { EXIT } from './exit-code.js';
import { Failure } from './failure.js';
import { complain } from './output.js';

/** Says what went wrong; resolves with the exit code. */
export async function report(error: unknown): Promise<number> {
  if (error instanceof Failure) {
    complain(error.message);
    return error.exitCode;
  }
  // The help needs no library.
  const { isRedsemError } = await import('../index.js');
  if (isRedsemError(error)) {
    complain(error.message);
    return EXIT.unavailable;
  }
  complain(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return EXIT.internal;
}
