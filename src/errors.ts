/** Every `code` that an error of this package can carry. */
export type RedsemErrorCode =
  'ACQUIRE_TIMEOUT' | 'HANDLE_LOST' | 'BACKEND' | 'QUORUM' | 'CLOSED' | 'INVALID_ARGUMENT';

const BRAND = Symbol.for('redsem.error');

/** Where each code has a heading of its name. */
const DOCS = 'docs/reference/errors.md';

/** What `withDocs` adds: only the outermost error of several keeps it. */
const DOCS_LINK = /; see docs\/reference\/errors\.md#\w+$/;

/** Ends a message with the place that explains its code. */
export function withDocs(code: RedsemErrorCode, message: string): string {
  return `${message}; see ${DOCS}#${code.toLowerCase()}`;
}

/**
 * The base of every error that this package makes. Bad arguments are plain `TypeError`s and
 * `RangeError`s.
 */
export class RedsemError extends Error {
  readonly code: RedsemErrorCode;

  constructor(code: RedsemErrorCode, message: string, cause?: unknown) {
    super(withDocs(code, message), cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/** True for errors of this package, also those of another copy of it in the same process. */
export function isRedsemError(error: unknown): error is RedsemError {
  return typeof error === 'object' && error !== null && BRAND in error;
}

export interface AcquireTimeoutDetails {
  readonly name: string;
  readonly timeout: number;
  readonly waited: number;
  readonly attempts: number;
}

/** No permit came free in time. `cause` is the last error of the backend, if there was one. */
export class AcquireTimeoutError extends RedsemError {
  /** The semaphore's name. */
  readonly semaphore: string;
  /** Milliseconds that the caller allowed. */
  readonly timeout: number;
  /** Milliseconds that passed. */
  readonly waited: number;
  /** How many times the backend was asked. */
  readonly attempts: number;

  constructor(details: AcquireTimeoutDetails, cause?: unknown) {
    const { name, timeout, attempts } = details;
    const waited = Math.round(details.waited);
    const tries = `${attempts} ${attempts === 1 ? 'try' : 'tries'}`;
    const why = cause === undefined ? '' : `; last error: ${describe(cause)}`;
    super(
      'ACQUIRE_TIMEOUT',
      `${isUnreachable(cause) ? 'cannot reach Redis: ' : ''}no permit of ${JSON.stringify(name)} came free within ${timeout} ms (${tries} in ${waited} ms)${why}`,
      cause,
    );
    this.semaphore = name;
    this.timeout = timeout;
    this.waited = waited;
    this.attempts = attempts;
  }
}

/**
 * Why a handle is lost. `expired`: its lease ran out by the local clock before an extension was
 * confirmed; `missing`: the backend no longer has the ticket; `revoked`: an operator took it back;
 * `closed`: the semaphore object was closed while the handle was held; `released`: its holder
 * released it and used it afterwards, which no `lost` event reports.
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
  readonly reason: LostReason;
  /** The semaphore's name. */
  readonly semaphore: string;
  readonly ticketId: string;

  constructor(name: string, ticketId: string, reason: LostReason, cause?: unknown) {
    super(
      'HANDLE_LOST',
      reason === 'released'
        ? `the permit of ${JSON.stringify(name)} is no longer held: ${LOST_BECAUSE.released} (ticket ${ticketId})`
        : `the permit of ${JSON.stringify(name)} is lost: ${LOST_BECAUSE[reason]}; stop the work that it covers (ticket ${ticketId})`,
      cause,
    );
    this.reason = reason;
    this.semaphore = name;
    this.ticketId = ticketId;
  }
}

/** The backend failed and a retry cannot help, or it did not answer in time. */
export class BackendError extends RedsemError {
  constructor(message: string, cause?: unknown) {
    super(
      'BACKEND',
      cause === undefined ? message : `${message}: ${describe(cause)}${advice(cause)}`,
      cause,
    );
  }
}

/**
 * Too few of the independent masters answered for a majority to be had, or others use them in
 * another set. `cause` has the reasons, too.
 */
export class QuorumError extends RedsemError {
  /** What went wrong on each node, in the order of the clients; undefined for one that answered. */
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
    this.reasons = reasons;
  }
}

/** The semaphore object was closed. */
export class ClosedError extends RedsemError {
  constructor(name: string) {
    super('CLOSED', `the semaphore ${JSON.stringify(name)} is closed by close(); make a new one`);
  }
}

function describe(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  if (cause.message !== '') return cause.message.replace(DOCS_LINK, '');
  return cause instanceof AggregateError ? cause.errors.map(describe).join('; ') : cause.name;
}

/** What to do about the replies of a server that refuses, by their first words. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/\bNOPERM\b/, '; grant the user this command and its keys (ACL SETUSER)'],
  [
    /\bWRONGTYPE\b/,
    '; a key of this semaphore holds something else: delete it, or choose another prefix',
  ],
  [/\bOOM\b/, '; raise maxmemory, and keep maxmemory-policy noeviction'],
];

function advice(cause: unknown): string {
  const text = describe(cause);
  return ADVICE.find(([reply]) => reply.test(text))?.[1] ?? '';
}

/** No reply, or no connection. */
function isUnreachable(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false;
  const said = `${describe(cause)} ${String(Reflect.get(cause, 'code'))}`;
  return (
    cause.name === 'CallTimeoutError' ||
    /ECONN|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|socket|connection is closed/i.test(said)
  );
}
