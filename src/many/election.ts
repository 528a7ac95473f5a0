import { checkOptions, SEMAPHORE_OPTIONS } from '../arguments/known-options.js';
import { quoted } from '../arguments/shown.js';
import { checkType } from '../arguments/validation.js';
import { onceAborted } from '../core/abort-fanout.js';
import { describe } from '../error-causes.js';
import { ClosedError, RedsemError } from '../errors.js';
import type { Handle } from '../handle.js';
import { Mutex, type MutexOptions, type SemaphoreTarget } from '../mutex.js';
import { resolveAcquire } from '../arguments/resolve.js';
import type { SemaphoreWarning } from '../semaphore.js';
import { OneSemaphoreLock } from './one-semaphore-lock.js';

/** The options of a mutex, and `again`. */
export interface ElectionOptions extends MutexOptions {
  /**
   * Whether the object campaigns again by itself each time it loses its leadership, until `resign`
   * or `close`. Default false.
   */
  readonly again?: boolean | undefined;
}

/** A problem that needs your attention. The election keeps working, or keeps trying. */
export interface ElectionWarning extends Omit<SemaphoreWarning, 'code'> {
  /** The kind of problem, for programs: see the event. */
  readonly code: 'CAMPAIGN_FAILED' | SemaphoreWarning['code'];
}

/** Every event and what its listeners get. */
export interface ElectionEvents {
  /** This process leads from now on: each time that it wins a campaign. */
  leader: [leadership: Handle];
  /**
   * `CAMPAIGN_FAILED`: a campaign that `again` started has failed, and no other campaign follows by
   * itself. The other codes are the codes of the mutex underneath.
   */
  warning: [warning: ElectionWarning];
}

/**
 * One leader among the processes that campaign under one name: the holder of its mutex. Candidates
 * lead in the order in which they began to campaign.
 *
 * Not guaranteed: a leader that stalls (a blocked event loop, a suspended machine) is deposed when
 * its lease runs out, and may act as leader until it reads `held` or `signal`. Guard an action that
 * must happen once by the `fencingToken`: each term has a higher token.
 */
export class Election extends OneSemaphoreLock<ElectionEvents> {
  /** The mutex underneath, for `inspect` (its holder is the leader) and `revoke`. */
  readonly mutex: Mutex;
  readonly #again: boolean;
  readonly #campaigns = new Set<AbortController>();
  #leadership: Handle | undefined;

  /**
   * @param target as for a `Semaphore`
   * @param name 1 to 512 bytes of anything; shared with mutexes and semaphores
   * @throws {TypeError | RangeError} at once, naming option, expectation and value
   */
  constructor(target: SemaphoreTarget, name: string, options: ElectionOptions = {}) {
    checkOptions(options, `${SEMAPHORE_OPTIONS} again`);
    const { again = false, ...others } = options;
    checkType(typeof again === 'boolean', 'again', 'true or false', again);
    const mutex = new Mutex(target, name, others);
    super(mutex);
    this.mutex = mutex;
    this.#again = again;
  }

  /**
   * The handle while this object leads, else undefined. It reads the clocks, so it is right even
   * after a stall.
   */
  get leadership(): Handle | undefined {
    return this.#leadership?.held === true ? this.#leadership : undefined;
  }

  /**
   * Waits until this object leads. The handle has the fencing token of the term, and `signal` and
   * `lost` for its end. An object that leads already waits for the end of its term.
   * @param signal ends this campaign, and the campaigns that follow by `again`; not the leadership
   * @throws the signal's reason when it aborts
   * @throws {DOMException} an `AbortError` when `resign` ends the campaign
   * @throws as `acquire` of a semaphore, except that it never times out
   */
  async campaign(signal?: AbortSignal): Promise<Handle> {
    resolveAcquire(signal === undefined ? {} : { signal });
    const campaign = new AbortController();
    const forget = signal && onceAborted(signal, () => campaign.abort(signal.reason));
    if (signal?.aborted === true) campaign.abort(signal.reason);
    this.#campaigns.add(campaign);
    try {
      const leadership = await this.mutex.acquire({ signal: campaign.signal });
      // Without an await: a campaign that ended before it led is not won.
      if (!campaign.signal.aborted) this.#lead(leadership, signal);
      else await leadership[Symbol.asyncDispose]();
      campaign.signal.throwIfAborted();
      return leadership;
    } finally {
      this.#campaigns.delete(campaign);
      forget?.();
    }
  }

  /**
   * Gives the leadership up, so that the next candidate leads at once, and ends all campaigns of
   * this object.
   * @returns true when it led until now
   * @throws as `release` of a handle
   */
  async resign(): Promise<boolean> {
    for (const campaign of this.#campaigns) {
      campaign.abort(new DOMException(`resigned from ${quoted(this.name)}`, 'AbortError'));
    }
    const leadership = this.#leadership;
    // Its holder may have released it before.
    const isLeader = this.leadership !== undefined;
    this.#leadership = undefined;
    return (await leadership?.release()) === true && isLeader;
  }

  #lead(leadership: Handle, signal: AbortSignal | undefined): void {
    this.#leadership = leadership;
    if (this.#again) {
      leadership.on('lost', () => {
        if (this.#leadership === leadership) void this.#campaignAgain(signal);
      });
    }
    // On the next tick, so that the error of a listener becomes an uncaught exception.
    process.nextTick(() => this.emit('leader', leadership));
  }

  async #campaignAgain(signal: AbortSignal | undefined): Promise<void> {
    try {
      await this.campaign(signal);
    } catch (cause) {
      // The signal, `resign` or `close` ended it.
      const isFailure = cause instanceof RedsemError && !(cause instanceof ClosedError);
      if (signal?.aborted === true || !isFailure) return;
      const message = `the election ${quoted(this.name)} has no candidate here any more: ${describe(cause)}`;
      process.nextTick(() => this.emit('warning', { code: 'CAMPAIGN_FAILED', message, cause }));
    }
  }
}
