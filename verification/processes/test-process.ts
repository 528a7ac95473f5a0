import type { HandleData, RateOptions, SemaphoreOptions } from '../../src/index.js';
import type { ClientKind } from '../../test/support/open-client.js';
import {
  startWorker,
  type WorkerOptions,
  type WorkerProcess,
} from '../../test/support/worker-process.js';
import type { Interval } from './hold-intervals.js';

export interface ProcessArguments {
  readonly kind: ClientKind;
  /** Of one server, or of several independent masters. */
  readonly url: string | readonly string[];
  /** The semaphore of all calls but `run`. */
  readonly name?: string;
  readonly options?: SemaphoreOptions;
}

/** What many callers do with one semaphore. */
export interface Job {
  readonly name: string;
  readonly limit: number;
  /** How many callers acquire at the same time. */
  readonly tasks: number;
  /** Milliseconds between the first calls of two of them; default: all at once. */
  readonly apart?: number;
  /** How often each of them does. */
  readonly rounds: number;
  /** How long each holds its permit, in milliseconds. */
  readonly hold: number;
  /** How many permits each of them takes at once; default: 1. */
  readonly permits?: number;
  readonly rate?: RateOptions;
  readonly timeout?: number;
}

/** What a process may be asked, and what it answers. */
export interface Calls {
  acquire(options: { timeout?: number; permits?: number }): HandleData;
  adopt(ticket: HandleData): HandleData;
  release(id: string): boolean;
  /** When a handle last said that it is held, by the machine's clock. */
  lastHeld(nothing: null): number;
  run(job: Job): Interval[];
}

export interface Order {
  readonly number: number;
  readonly call: keyof Calls;
  readonly argument: unknown;
}

export interface Answer {
  readonly value?: unknown;
  readonly error?: string;
}

const running = new Set<TestProcess>();

/** A process that uses semaphores on command, and reports what it loses. */
export class TestProcess {
  readonly worker: WorkerProcess;
  #orders = 0;

  static async start(args: ProcessArguments, options?: WorkerOptions): Promise<TestProcess> {
    const script = new URL('process-worker.ts', import.meta.url);
    const started = new TestProcess(startWorker(script, args, options));
    running.add(started);
    await started.worker.next('ready');
    return started;
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
    const answer = (await this.worker.next(`answer ${order.number}`)).data as Answer;
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer.value as ReturnType<Calls[C]>;
  }

  /** The next handle that it loses. */
  async nextLoss(): Promise<unknown> {
    return (await this.worker.next('lost')).data;
  }

  async kill(): Promise<void> {
    this.worker.kill();
    await this.worker.exited;
  }
}

/** Kills all that were started. */
export function stopProcesses(): void {
  for (const { worker } of running) worker.kill();
  running.clear();
}
