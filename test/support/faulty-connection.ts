import { setImmediate as turn } from 'node:timers/promises';

import type { RedisConnection, Subscription, SubscriptionEvents } from '../../src/index.js';
import * as scripts from '../../src/redis/scripts.js';

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
  [scripts.acquireScript.sha1, 'acquire'],
  [scripts.extendScript.sha1, 'extend'],
  [scripts.releaseScript.sha1, 'release'],
  [scripts.inspectScript.sha1, 'inspect'],
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
    const call = { operation: operations.get(sha1) ?? 'unknown', args, run };
    this.calls.push(call);
    return this.#watch(() => this.fault?.(call) ?? run());
  }

  /** What follows a NOSCRIPT is the same call: it passes. */
  runByText(text: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#watch(() => this.#real.runByText(text, keys, args));
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
    for (let quiet = 0; quiet < 3;) {
      await turn();
      quiet = this.#underWay === 0 ? quiet + 1 : 0;
    }
  }

  async #watch(run: () => Promise<unknown>): Promise<unknown> {
    this.#underWay += 1;
    try {
      return await run();
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
  open: () => void = () => undefined;
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });
}
