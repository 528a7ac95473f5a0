import type { HandleData, SemaphoreOptions } from '../../src/index.js';
import { startWorker, type WorkerProcess } from '../../test/support/worker-process.js';
import type { ClientKind } from '../../test/support/open-client.js';

export interface TicketArguments {
  readonly kind: ClientKind;
  readonly url: string;
  readonly name: string;
  readonly options: SemaphoreOptions;
}

/** What a process may be told to do, and what it answers. */
export interface TicketCalls {
  acquire(timeout: number): HandleData;
  /** Starts to wait; the process says `granted` when its turn comes. */
  wait(permits: number): null;
  adopt(ticket: HandleData): HandleData;
  /** Whether the handle of that ticket was still held. */
  release(id: string): boolean;
  held(id: string): boolean;
  setLimit(limit: number): null;
  revoke(id: string): boolean;
}

export type TicketCall = keyof TicketCalls;

export interface TicketOrder {
  readonly number: number;
  readonly call: TicketCall;
  readonly argument: unknown;
}

export type TicketAnswer = { readonly value: unknown } | { readonly error: string };

export interface Loss {
  readonly id: string;
  readonly reason: string;
}

/** A process with one semaphore, which does as it is told and says what it loses. */
export class TicketProcess {
  readonly worker: WorkerProcess;
  #orders = 0;

  static async start(args: TicketArguments): Promise<TicketProcess> {
    const worker = startWorker(new URL('ticket-worker.ts', import.meta.url), args);
    await worker.next('ready');
    return new TicketProcess(worker);
  }

  constructor(worker: WorkerProcess) {
    this.worker = worker;
  }

  async ask<C extends TicketCall>(
    call: C,
    ...[argument]: Parameters<TicketCalls[C]>
  ): Promise<ReturnType<TicketCalls[C]>> {
    this.#orders += 1;
    const order: TicketOrder = { number: this.#orders, call, argument };
    this.worker.send({ type: 'order', data: order });
    const answer = (await this.worker.next(`answer ${order.number}`)).data as TicketAnswer;
    if ('error' in answer) throw new Error(answer.error);
    return answer.value as ReturnType<TicketCalls[C]>;
  }

  /** The next handle that it loses. */
  async nextLoss(): Promise<Loss> {
    return (await this.worker.next('lost')).data as Loss;
  }

  /** What it got after `wait`. */
  async nextGrant(): Promise<HandleData> {
    return (await this.worker.next('granted')).data as HandleData;
  }
}
