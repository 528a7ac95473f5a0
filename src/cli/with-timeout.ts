import { EXIT, Failure } from './failure.js';

/** How long connecting may take, in milliseconds. */
export const CONNECT_TIME = 5000;

/** How long a Redis command of this program may take, in milliseconds. */
export const COMMAND_TIME = 5000;

const LOOK_EVERY = 100;

/**
 * Limits the time of a call, because no client limits every call. A late result is ignored. On a
 * machine so busy that this program hardly runs, only the time in which it runs counts: the server
 * is not silent then.
 * @param milliseconds how long the server may be silent
 * @param deadline milliseconds after which the call fails in any case
 */
export function withTimeout<T>(
  milliseconds: number,
  what: string,
  promise: Promise<T>,
  deadline: number = Infinity,
): Promise<T> {
  const started = performance.now();
  const longest = Math.round(Math.min(milliseconds, deadline));
  let [looked, silence] = [started, 0];
  return new Promise((resolve, reject) => {
    const wait = (): NodeJS.Timeout => {
      const left = Math.min(milliseconds - silence, started + deadline - performance.now());
      return setTimeout(look, Math.min(LOOK_EVERY, Math.max(0, left)));
    };
    const look = (): void => {
      const now = performance.now();
      silence += Math.min(now - looked, 2 * LOOK_EVERY);
      looked = now;
      if (silence < milliseconds && now - started < deadline) timer = wait();
      else reject(new Failure(EXIT.unavailable, `${what}: no answer within ${longest} ms`));
    };
    let timer = wait();
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
