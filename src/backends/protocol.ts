/**
 * The numbers that all users of a semaphore must agree on, in milliseconds where the name says so.
 * Scripts have them as `CLAIM_TIME_US` and the like, see `redis/compose-script.ts`.
 */

/** How long a ticket lives that was granted to a waiter but not yet claimed by it. */
export const CLAIM_TIME_MS = 5000;

/** How long a process's queued requests count without a sign of life from it. */
export const WAITER_LEASE_MS = 5000;

/** How much later than the client of the head other clients ask, while a rate holds it back. */
export const AFTER_TURN_MS = 2500;

/**
 * How long a rate that a caller named counts for callers that name none, at least; longer where its
 * period is.
 */
export const RATE_LIFE_MS = 60_000;

/**
 * The end of a stored rule, and the expiry of the member that keeps `tickets`: later than any,
 * exact in a double.
 */
export const NEVER_US: number = 9e15;

/** How long what is stored of a semaphore outlives its last ticket. */
export const KEYS_LIFE_MS = 86_400_000;

/** What is stored where there is no limit beside a rate: the largest that can be stored. */
export const NO_LIMIT: number = Number.MAX_SAFE_INTEGER;

/** Permits of one ticket at most: each has a slot that is named in replies and messages. */
export const MOST_PERMITS: number = 2 ** 24;

/** Budgets that count at once. */
export const MOST_BUDGETS = 4;

/** Bytes of a semaphore's name at most. */
export const LONGEST_NAME = 512;

/** Free slots that a node of a quorum names at most. */
export const MAX_FREE_SLOTS = 32;

/**
 * Tickets and requests that `inspect` reads with one command, so that a large semaphore does not
 * block the server.
 */
export const INSPECT_PAGE = 500;

/** Keys that `listNames` looks at with one command. */
export const LIST_PAGE = 1000;
