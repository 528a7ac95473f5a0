export interface WorkerTask {
  readonly kind: 'redis' | 'ioredis';
  readonly url: string;
  readonly name: string;
  readonly limit: number;
  readonly waiters: number;
}

/** What one worker has at one moment. */
export interface WorkerSample {
  /** In MiB or pieces. */
  readonly figures: Record<string, number>;
  /** Permits it was granted, so far. */
  readonly grants: number;
  /** Waits that timed out or were aborted, so far. */
  readonly refusals: number;
}

export const MEBIBYTE = 1024 * 1024;
