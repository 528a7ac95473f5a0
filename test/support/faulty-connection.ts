import { setImmediate as turn } from 'node:timers/promises';

import type { RedisConnection, Subscription, SubscriptionEvents } from '../../src/index.js';
import {
  acquireScript,
  extendScript,
  inspectScript,
  releaseScript,
} from '../../src/redis/scripts.js';

export type Operation = 'acquire' | 'extend' | 'release' | 'inspect' | 'unknown';

export interface FaultyCall {
  readonly operation: Operation;
  readonly args: readonly string[];
  /** Lets the call through to the real client. */
  readonly run: () => Promise<unknown>;
}

/** What becomes of a call; undefined lets it through. */
export type Fault = (call: FaultyCall) => Promise<unknown> | undefined;

const operations = new Map<string, Operation>([
  [acquireScript.sha1, 'acquire'],
  [extendScript.sha1, 'extend'],
  [releaseScript.sha1, 'release'],
  [inspectScript.sha1, 'inspect'],
]);

/** A custom connection in front of a real client, which does wrong on demand. */
export class FaultyConnection implements RedisConnection {
  /** Every call so far, those that failed included. */
  readonly calls: FaultyCall[] = [];
  fault: Fault | undefined;
  readonly #real: RedisConnection;
  #underWay = 0;

  constructor(real: RedisConnection) {
    this.#real = real;
  }

  runBySha(sha1: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const run = (): Promise<unknown> => this.#real.runBySha(sha1, keys, args);
    const operation = operations.get(sha1) ?? 'unknown';
    return this.#watch({ operation, args, run });
  }

  /** What follows a NOSCRIPT is the same call: it passes. */
  async runByText(
    text: string,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<unknown> {
    this.#underWay += 1;
    try {
      return await this.#real.runByText(text, keys, args);
    } finally {
      this.#underWay -= 1;
    }
  }

  isClosed(): boolean {
    return this.#real.isClosed?.() ?? false;
  }

  subscribe(channel: string, events: SubscriptionEvents): Subscription {
    if (this.#real.subscribe === undefined) throw new Error('this client cannot subscribe');
    return this.#real.subscribe(channel, events);
  }

  /** The calls of one operation. */
  of(operation: Operation): readonly FaultyCall[] {
    return this.calls.filter((call) => call.operation === operation);
  }

  /** Resolves when no call is under way and what its reply sets off has run. */
  async idle(): Promise<void> {
    let quiet = 0;
    while (quiet < 3) {
      await turn();
      quiet = this.#underWay === 0 ? quiet + 1 : 0;
    }
  }

  async #watch(call: FaultyCall): Promise<unknown> {
    this.calls.push(call);
    this.#underWay += 1;
    try {
      return await (this.fault?.(call) ?? call.run());
    } finally {
      this.#underWay -= 1;
    }
  }
}

/** The next `count` calls of an operation fail with that message, without reaching the server. */
export function failNext(count: number, message: string, operation?: Operation): Fault {
  let left = count;
  return (call) => {
    if (left === 0 || (operation !== undefined && call.operation !== operation)) return undefined;
    left -= 1;
    return Promise.reject(new Error(message));
  };
}

/** A gate that a test opens: what awaits it waits until then. */
export class Gate {
  readonly opened: Promise<void>;
  #open: () => void = () => undefined;

  constructor() {
    this.opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(): void {
    this.#open();
  }
}
