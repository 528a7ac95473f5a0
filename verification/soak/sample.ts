/** What one worker has at one moment. */
export interface WorkerSample {
  /** Bytes in use after a garbage collection. */
  readonly heap: number;
  /** Bytes of the process. */
  readonly resident: number;
  /** Timers that its semaphores have set. */
  readonly timers: number;
  /** Resources that keep a process alive: sockets, timers and the like. */
  readonly resources: number;
  /** Listeners on its client, on the process and on the signal that all its waiters share. */
  readonly listeners: number;
  /** Permits it was granted, so far. */
  readonly grants: number;
  /** Waits that timed out or were aborted, so far. */
  readonly refusals: number;
}

/** What the server has at one moment. */
export interface ServerSample {
  /** Bytes that it has in use for data, clients and scripts. */
  readonly used: number;
  /** Bytes of the process. */
  readonly resident: number;
  readonly keys: number;
  readonly clients: number;
  /** Channels that somebody listens on. */
  readonly channels: number;
}

export interface Sample {
  /** Seconds since the start. */
  readonly at: number;
  readonly workers: readonly WorkerSample[];
  readonly server: ServerSample;
}

export interface WorkerTask {
  readonly kind: 'redis' | 'ioredis';
  readonly url: string;
  readonly name: string;
  readonly limit: number;
  readonly waiters: number;
}
