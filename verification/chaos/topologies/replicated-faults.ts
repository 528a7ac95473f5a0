import type { TestServer } from '../../../test/support/redis-server.js';
import type { FaultKind } from '../history/fault-kinds.js';
import { networkKinds } from './proxy-faults.js';

/** What a set of servers with replicas can do about the master that has the semaphore. */
export interface ReplicatedServers {
  master(): Promise<TestServer>;
  replicas(): Promise<TestServer[]>;
  kill(server: TestServer): Promise<void>;
  pause(server: TestServer): void;
  /** Resolves once another server has taken over. */
  untilFailover(from: TestServer): Promise<void>;
  /** Brings back what was killed. */
  repair(): Promise<void>;
}

export const replicatedKinds: readonly FaultKind[] = [
  'kill-process',
  'stop-process',
  'kill-clients',
  ...networkKinds,
  'forget-scripts',
  'flush-data',
  'delete-key',
  'fail-over',
];

/**
 * Kills a master whose last writes have reached no replica, and waits until one of these has taken
 * over.
 */
export class FailOver {
  readonly #servers: ReplicatedServers;
  #stopped: readonly TestServer[] = [];

  constructor(servers: ReplicatedServers) {
    this.#servers = servers;
  }

  async stopReplication(): Promise<void> {
    this.#stopped = await this.#servers.replicas();
    for (const replica of this.#stopped) this.#servers.pause(replica);
  }

  async promote(): Promise<void> {
    const master = await this.#servers.master();
    await this.#servers.kill(master);
    for (const replica of this.#stopped) replica.resume();
    this.#stopped = [];
    await this.#servers.untilFailover(master);
  }
}
