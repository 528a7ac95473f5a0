import { UnfitServerError } from '../backend.js';
import { systemClock } from '../../time/clock.js';
import type { RedisConnection } from './connection.js';
import { UnexpectedReplyError } from './replies.js';
import { runText } from './script-runner.js';
import { checkServerScript } from './scripts.js';

/** A clock that has not moved after this time, or in this many looks, has stopped. */
const STANDSTILL_MS = 20;
const MOST_LOOKS = 1000;

/**
 * Whether the server behind a connection knows the commands that are needed, and has a clock that
 * moves: on one that does not, no ticket would ever expire. Looked up beside the first call, with
 * one more command at the same time; later calls cost nothing.
 */
export class ServerCheck {
  readonly #connection: RedisConnection;
  #passed: boolean;
  /** Shared by the calls of one turn only: it may never settle. */
  #look: Promise<number> | undefined;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
    // Then it is no server, and has no clock.
    this.#passed = connection.serverClock !== undefined;
  }

  get passed(): boolean {
    return this.#passed;
  }

  /**
   * Gives what `call` gives, once the server is known to be fit.
   * @throws {UnfitServerError}
   */
  async confirm<R>(
    call: Promise<R>,
    timeOf: (reply: R) => number | undefined,
    keys: readonly string[],
  ): Promise<R> {
    const look = this.#lookOnce(keys);
    // Also where the look has failed: what is withdrawn before its call has run would be granted
    // after that.
    await Promise.allSettled([call, look]);
    const [reply, time] = await Promise.all([call, look]);
    // The two ran one after the other.
    if (timeOf(reply) === time) await this.#expectOtherThan(time, keys);
    this.#passed = true;
    return reply;
  }

  #lookOnce(keys: readonly string[]): Promise<number> {
    if (this.#look === undefined) {
      this.#look = this.#time(keys);
      queueMicrotask(() => {
        this.#look = undefined;
      });
    }
    return this.#look;
  }

  /** A clock may be coarse: by round trips, so that no timer is needed. */
  async #expectOtherThan(time: number, keys: readonly string[]): Promise<void> {
    const began = systemClock.monotonic();
    for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
      if ((await this.#time(keys)) !== time) return;
      if (systemClock.monotonic() - began > STANDSTILL_MS) break;
    }
    throw new UnfitServerError(`the time that it gives to scripts has stopped at ${time}`);
  }

  async #time(keys: readonly string[]): Promise<number> {
    const reply = await runText(this.#connection, checkServerScript, keys.slice(0, 1), []);
    if (!/^\d+$/.test(String(reply))) throw new UnexpectedReplyError('check-server', reply);
    return Number(reply) / 1000;
  }
}
