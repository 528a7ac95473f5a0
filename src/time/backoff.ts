/** How pauses between tries grow. */
export interface BackoffOptions {
  /** First pause in milliseconds. Default 10, minimum 1. */
  readonly min: number;
  /** Longest pause in milliseconds. Default 200, minimum `min`, maximum 2 147 483 647. */
  readonly max: number;
  /** By what each pause is multiplied to give the next one: 1 to 1000, default 2. */
  readonly factor: number;
  /**
   * Whether a pause is drawn from the upper half of its length, so that processes do not try in
   * step. Default true.
   */
  readonly jitter: boolean;
}

/**
 * The pause before try number `attempt` (0 is the first repetition), in milliseconds. "Equal
 * jitter" of https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/: half is
 * kept, half is drawn.
 */
export function backoffDelay(options: BackoffOptions, attempt: number, random: number): number {
  const full = Math.min(options.max, options.min * options.factor ** Math.min(attempt, 64));
  return options.jitter ? full / 2 + (random * full) / 2 : full;
}
