import { UnavailableError } from './failure.js';

/** How long connecting may take, in milliseconds. */
export const CONNECT_TIME = 5000;

/** How long a command of this program's own may take, in milliseconds. */
export const COMMAND_TIME = 5000;

/** No client bounds every call by itself. What settles too late is ignored. */
export function within<T>(milliseconds: number, what: string, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new UnavailableError(`${what}: no answer within ${milliseconds} ms`));
    }, milliseconds);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
