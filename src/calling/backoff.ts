/** How pauses between tries grow. */
export interface BackoffOptions {
  /** First pause in milliseconds. */
  readonly min: number;
  /** Longest pause in milliseconds. */
  readonly max: number;
  /** How much longer each pause is than the one before. */
  readonly factor: number;
  /**
   * Whether a pause is drawn from the upper half of its length, so that processes do not try in
   * step.
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
