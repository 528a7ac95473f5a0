import type { Clock } from '../../src/index.js';
import type * as port from '../../src/backends/quorum/quorum-node.js';
import { MemoryQuorumNode } from './memory-node.js';

/**
 * The fate of a call to a node: when the call and its reply arrive, in milliseconds;
 * undefined: never.
 */
export interface Fate {
  readonly request: number | undefined;
  readonly reply: number | undefined;
}

export const AT_ONCE: Fate = { request: 0, reply: 0 };
export const HUNG: Fate = { request: undefined, reply: undefined };

/** A node to which there is no connection. */
export function dead(): never {
  throw new Error('Connection is closed.');
}

/**
 * A node in memory behind a network on which calls are delayed, lost, executed without a reply, and
 * overtake each other.
 */
export class TroubledNode implements port.QuorumNode {
  readonly memory: MemoryQuorumNode;
  readonly #clock: Clock;
  hold: port.QuorumNode['hold'] = (call) => {
    const kind = call.requests[0]?.mode === 'take' ? 'take' : 'keep';
    return this.#send(kind, () => this.memory.hold(call));
  };
  drop: port.QuorumNode['drop'] = (call) => this.#send('drop', () => this.memory.drop(call));
  list: port.QuorumNode['list'] = (key) => this.#send('list', () => this.memory.list(key));
  /** Decides on each call. */
  fate: () => Fate;
  /** Calls that arrived, by kind. */
  readonly calls = { take: 0, keep: 0, drop: 0, list: 0 };

  /** `memory`: where another door leads to the same node. */
  constructor(clock: Clock, fate = () => AT_ONCE, memory = new MemoryQuorumNode(clock)) {
    this.memory = memory;
    this.#clock = clock;
    this.fate = fate;
  }

  get name(): string | undefined {
    return this.memory.name;
  }

  isRetryable(error: unknown): boolean {
    return !String(error).includes('NOPERM');
  }

  async #send<R>(kind: keyof TroubledNode['calls'], execute: () => Promise<R>): Promise<R> {
    const { request, reply } = this.fate();
    await this.#pass(request);
    this.calls[kind] += 1;
    const result = await execute();
    await this.#pass(reply);
    return result;
  }

  #pass(delay: number | undefined): Promise<void> {
    if (delay === 0) return Promise.resolve();
    return new Promise((resolve) => {
      if (delay !== undefined) this.#clock.schedule(resolve, delay, false);
    });
  }
}
