import { systemClock } from '../../time/clock.js';
import { UnfitServerError } from '../unfit-server.js';
import { script } from './compose-script.js';
import type { RedisConnection } from './connection.js';
import { runScript } from './script-runner.js';
import { milliseconds, textOf } from './wire-text.js';

/** A clock that has not moved after this time has stopped. */
const STANDSTILL_MS = 20;

const checkServerScript = script('check-server');
const timeOf = (reply: unknown): number => milliseconds(textOf(reply));

/**
 * Whether the server behind a connection knows the commands that are needed, and has a clock that
 * moves: while a clock does not move, no ticket expires. The check is a command beside the first
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
  async confirm<R>(
    call: Promise<R>,
    timeIn: (reply: R) => number | undefined,
    keys: readonly string[],
  ): Promise<R> {
    const timeNow = () =>
      runScript(this.#connection, checkServerScript, keys.slice(0, 1), [], timeOf, true);
    const probe = timeNow();
    // Also where the probe has failed: what is withdrawn before its call has run would be granted
    // after that.
    await Promise.allSettled([call, probe]);
    const [reply, time] = await Promise.all([call, probe]);
    const before = timeIn(reply);
    if (before === undefined) return reply;
    // The two ran one after the other. A clock may be coarse: by round trips, so that no timer is
    // needed.
    const began = systemClock.monotonic();
    for (let now = time; now === before; now = await timeNow()) {
      if (systemClock.monotonic() - began <= STANDSTILL_MS) continue;
      throw new UnfitServerError(`the time that it gives to scripts has stopped at ${time}`);
    }
    this.passed = true;
    return reply;
  }
}
