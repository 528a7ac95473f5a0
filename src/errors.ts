import { safeCause, withoutCredentials } from './arguments/shown.js';
import { NO_LIMIT } from './backends/protocol.js';
import { advice, describe, type ErrorSubject, isUnreachable, withHelp } from './error-causes.js';
import { CallTimeoutError } from './time/call-timeout.js';

/** Every `code` that an error of this package can carry. */
export type RedsemErrorCode =
  | 'ACQUIRE_TIMEOUT'
  | 'QUEUE_FULL'
  | 'HANDLE_LOST'
  | 'BACKEND'
  | 'QUORUM'
  | 'CLOSED'
  | 'INVALID_ARGUMENT';

const BRAND = Symbol.for('redsem.error');

/**
 * The base of every error that this package makes, except for bad arguments: these are plain
 * `TypeError`s and `RangeError`s with the code `INVALID_ARGUMENT`.
 */
export class RedsemError extends Error {
  /** What went wrong, for programs. Each code has a heading in docs/reference/errors.md. */
  readonly code: RedsemErrorCode;

  constructor(code: RedsemErrorCode, message: string, cause?: unknown) {
    const options = cause === undefined ? undefined : { cause: safeCause(cause) };
    super(withHelp(code, withoutCredentials(message)), options);
    this.name = new.target.name;
    this.code = code;
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/** True for an error of this package, also of another copy of it in the same process. */
export function isRedsemError(error: unknown): error is RedsemError {
  return typeof error === 'object' && error !== null && BRAND in error;
}

type Counted = 'timeout' | 'waited' | 'attempts';

/** The facts in an `AcquireTimeoutError`. */
export interface AcquireTimeoutDetails extends Pick<AcquireTimeoutError, Counted> {
  /** The semaphore's name. */
  readonly name: string;
  /**
   * The limit in the last reply, if known. For a limit of 0 the message says that the semaphore is
   * paused.
   */
  readonly limit?: number | undefined;
  /** The permits that this process holds; left out: none. */
  readonly heldHere?: HeldHere | undefined;
}

/** The permits of a semaphore that this process holds, through the same client. */
export interface HeldHere {
  /** How many permits. */
  readonly permits: number;
  /** The limit in the last reply. */
  readonly limit: number;
  /** Milliseconds for which the first of these permits has been held. */
  readonly heldFor: number;
  /** The option `label` of its holder. */
  readonly label: string;
}

/** No permit came free in time. `cause` is the last error of the backend, if there was any. */
export class AcquireTimeoutError extends RedsemError {
  /** The semaphore's name. */
  readonly semaphore: string;
  /** Milliseconds that the caller allowed. */
  readonly timeout: number;
  /** Milliseconds that passed. */
  readonly waited: number;
  /** How many times the backend was asked. */
  readonly attempts: number;
  /** How many permits of the semaphore this process holds itself, through the same client. */
  readonly heldHere: number;

  constructor(details: AcquireTimeoutDetails, cause?: unknown) {
    const { name, timeout, attempts, limit, heldHere } = details;
    const waited = Math.round(details.waited);
    const tries = `${attempts} ${attempts === 1 ? 'try' : 'tries'}`;
    const paused = limit === 0 ? '; it is paused: its limit is 0, set another with setLimit' : '';
    super(
      'ACQUIRE_TIMEOUT',
      `${unreachable(cause)}no permit of ${JSON.stringify(name)} came free within ${timeout} ms (${tries} in ${waited} ms)${paused}${ownHolder(heldHere)}${reasonOf(cause)}`,
      cause,
    );
    this.semaphore = name;
    this.timeout = timeout;
    this.waited = waited;
    this.attempts = attempts;
    this.heldHere = heldHere?.permits ?? 0;
  }
}

/** Most often an acquire hangs because its own process holds the permit. */
function ownHolder(held: HeldHere | undefined): string {
  if (held === undefined) return '';
  const { permits, limit, heldFor, label } = held;
  const [of, are] = [limit < NO_LIMIT ? ` of ${limit}` : '', permits === 1 ? 'is' : 'are'];
  const time = heldFor < 1000 ? `${Math.round(heldFor)} ms` : `${Math.round(heldFor / 1000)} s`;
  const as = label === '' ? '' : `, as ${label}`;
  return `; ${permits}${of} permits ${are} held by this process, for ${time}${as}: does the holder wait for this acquire?`;
}

function unreachable(cause: unknown): string {
  return isUnreachable(cause) ? 'cannot reach Redis: ' : '';
}

/** Without a reply there is no error of the server to show. */
function reasonOf(cause: unknown): string {
  if (cause === undefined) return '';
  const isShort = cause instanceof CallTimeoutError && !isUnreachable(cause);
  if (isShort) return '; no reply came within that time';
  return `; last error: ${describe(cause)}${advice(cause, undefined)}`;
}

/** The facts in a `QueueFullError`. */
export interface QueueFullDetails extends Pick<QueueFullError, 'position' | 'limit'> {
  /** The semaphore's name. */
  readonly name: string;
}

/**
 * `maxWaiting` requests wait already. Redis refused this request at once; it holds nothing.
 */
export class QueueFullError extends RedsemError {
  /** The semaphore's name. */
  readonly semaphore: string;
  /** How many requests wait, of all processes. */
  readonly position: number;
  /** The option `maxWaiting` of this semaphore object. */
  readonly limit: number;

  constructor({ name, position, limit }: QueueFullDetails) {
    super(
      'QUEUE_FULL',
      `the queue of ${JSON.stringify(name)} is full: ${position} wait, and maxWaiting is ${limit}`,
    );
    this.semaphore = name;
    this.position = position;
    this.limit = limit;
  }
}

/**
 * Why a handle is lost. `expired`: its lease ran out by the local clock before an extension was
 * confirmed; `missing`: the backend no longer has the ticket; `revoked`: an operator took the
 * permit away; `closed`: the semaphore object was closed while the handle was held; `released`: its
 * holder released the handle and used it afterwards; no `lost` event reports that.
 */
export type LostReason = 'expired' | 'missing' | 'revoked' | 'closed' | 'released';

const LOST_BECAUSE: Record<LostReason, string> = {
  expired: 'its lease ran out before an extension was confirmed',
  missing:
    'the backend no longer has its ticket (its keys were lost, evicted or deleted, the ticket was adopted elsewhere, or it expired while this process stalled)',
  revoked: 'it was revoked',
  closed: 'its semaphore was closed',
  released: 'this handle was released; acquire a new one',
};

/** The holder can no longer be sure of its permit. */
export class HandleLostError extends RedsemError {
  /** Why it is lost. */
  readonly reason: LostReason;
  /** The semaphore's name. */
  readonly semaphore: string;
  /**
   * The ticket's id, as in `handle.id` and `inspect`; empty for a handle of several permits that
   * was released.
   */
  readonly ticketId: string;

  /** @param which for the message: which permit it is, of several that are held together */
  constructor(name: string, ticketId: string, reason: LostReason, cause?: unknown, which?: string) {
    const permit = `the permit of ${JSON.stringify(name)}${which === undefined ? '' : ` (${which})`}`;
    const [what, then] =
      reason === 'released' ? ['no longer held', ''] : ['lost', '; stop the work that it covers'];
    const ticket = ticketId === '' ? '' : ` (ticket ${ticketId})`;
    const message = `${permit} is ${what}: ${LOST_BECAUSE[reason]}${then}${ticket}`;
    super('HANDLE_LOST', message, cause);
    this.reason = reason;
    this.semaphore = name;
    this.ticketId = ticketId;
  }
}

/**
 * The backend refused a call in a way that a retry cannot fix, or did not answer in time. `cause`
 * is its last error.
 */
export class BackendError extends RedsemError {
  /** The name of the semaphore, or of the keyed mutex; undefined for a call about no semaphore. */
  readonly semaphore: string | undefined;

  /**
   * @param message what failed
   * @param cause the backend's error; the message repeats it and says what to do about it
   * @param subject the semaphore; without its `prefix`, the message cannot name its keys
   */
  constructor(message: string, cause?: unknown, subject?: ErrorSubject) {
    const why = cause === undefined ? '' : `: ${describe(cause)}${advice(cause, subject)}`;
    super('BACKEND', `${unreachable(cause)}${message}${why}`, cause);
    this.semaphore = subject?.name;
  }
}

/**
 * Fewer independent masters than a majority answered, or other processes use these masters in
 * another set. `cause` has the reasons, too.
 */
export class QuorumError extends RedsemError {
  /**
   * What went wrong on each node, in the order of the clients; undefined for a node that answered.
   */
  readonly reasons: readonly unknown[];

  constructor(majority: number, reasons: readonly unknown[], message?: string) {
    const failures = reasons.flatMap((reason, i) =>
      reason === undefined ? [] : `node ${i}: ${describe(reason)}`,
    );
    const errors = reasons.filter((reason) => reason !== undefined);
    const [answered, nodes] = [reasons.length - errors.length, reasons.length];
    super(
      'QUORUM',
      message ??
        `${answered} of ${nodes} nodes answered in time and ${majority} are needed: ${failures.join('; ')}`,
      new AggregateError(errors),
    );
    this.reasons = reasons.map(safeCause);
  }
}

/** The semaphore object was closed. */
export class ClosedError extends RedsemError {
  constructor(name: string) {
    super('CLOSED', `the semaphore ${JSON.stringify(name)} is closed by close(); make a new one`);
  }
}
