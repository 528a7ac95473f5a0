import { systemClock } from '../../time/clock.js';
import { UnfitServerError } from '../unfit-server.js';
import { script } from './compose-script.js';
import type { RedisConnection } from './connection.js';
import { runScript } from './script-runner.js';
import { textOf } from './wire-text.js';

/** A clock that has not moved after this time has stopped. */
const STANDSTILL_MS = 20;

const checkServerScript = script('check-server');

/**
 * Whether the server behind a connection knows the commands that are needed, and has a clock that
 * moves: while a clock does not move, no ticket expires. The check is two commands beside the first
 * call, at the same time; later calls cost nothing.
 */
export class ServerCheck {
  readonly #connection: RedisConnection;
  /** Set once it is known to be fit: no call is checked any more. */
  passed: boolean;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
    // Then it is no server, and has no clock.
    this.passed = connection.serverClock !== undefined;
  }

  /**
   * Gives what `call` gives, once the server is known to be fit.
   * @throws {UnfitServerError}
   */
  async confirm<R>(call: Promise<R>, keys: readonly string[]): Promise<R> {
    const check = this.#check(keys.slice(0, 1));
    // Also where the check has failed: what is withdrawn before its call has run would be granted
    // after that.
    await Promise.allSettled([call, check]);
    await check;
    this.passed = true;
    return call;
  }

  async #check(keys: readonly string[]): Promise<void> {
    const timeNow = () => runScript(this.#connection, checkServerScript, keys, [], textOf, true);
    // The two run one after the other.
    const [first, second] = await Promise.all([timeNow(), timeNow()]);
    // Only now: a distant server, or a client that connects first, takes longer than that.
    const began = systemClock.monotonic();
    // A clock may be coarse: by round trips, so that no timer is needed.
    for (let time = second; time === first; time = await timeNow()) {
      if (systemClock.monotonic() - began > STANDSTILL_MS)
        throw new UnfitServerError(`the time that it gives to scripts has stopped at ${time}`);
    }
  }
}
