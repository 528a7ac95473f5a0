import type { HandleData } from '../../src/index.js';
import { startWorker, type WorkerProcess } from '../../test/support/worker-process.js';

export interface UserArguments {
  readonly kind: 'redis' | 'ioredis';
  readonly url: string;
  /** The semaphore. */
  readonly name: string;
  readonly limit: number;
  readonly label: string;
}

/** The work of many callers in a process. */
export interface Work {
  readonly callers: number;
  /** How often each of them acquires. */
  readonly rounds: number;
  /** How long each holds its permit, in milliseconds. */
  readonly hold: number;
}

/** The requests to a process, and its answers. */
export interface Calls {
  acquire(permits: number): HandleData;
  release(id: string): boolean;
  work(work: Work): number;
}

export interface Order {
  readonly number: number;
  readonly call: keyof Calls;
  readonly argument: unknown;
}

/** A process that uses a semaphore on command, and reports lost permits. */
export class UserProcess {
  readonly worker: WorkerProcess;
  #orders = 0;

  static async start(args: UserArguments): Promise<UserProcess> {
    const worker = startWorker(new URL('user-worker.ts', import.meta.url), args);
    await worker.next('ready');
    return new UserProcess(worker);
  }

  constructor(worker: WorkerProcess) {
    this.worker = worker;
  }

  /** Rejects when the process ends before it has answered. */
  async ask<C extends keyof Calls>(
    call: C,
    argument: Parameters<Calls[C]>[0],
  ): Promise<ReturnType<Calls[C]>> {
    this.#orders += 1;
    const order: Order = { number: this.#orders, call, argument };
    this.worker.send({ type: 'order', data: order });
    return (await this.worker.next(`answer ${order.number}`)).data as ReturnType<Calls[C]>;
  }

  /** The next handle that it loses. */
  async nextLoss(): Promise<unknown> {
    return (await this.worker.next('lost')).data;
  }
}
