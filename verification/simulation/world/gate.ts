import type { Call } from '../../../src/backends/backend.js';
import type { SemaphoreTerms } from '../../history/events.js';
import type { Damage } from './damage.js';
import type { Gate, Way } from './link.js';
import type { Scheduler } from './scheduler.js';
import {
  OPERATIONS,
  type OperationName,
  type PushListener,
  type SimulatedServer,
} from './server.js';

/** A server that may hang, or be away. */
export abstract class Door {
  up = true;
  readonly damage: Damage;
  #hangsUntil = 0;
  readonly #scheduler: Scheduler;

  constructor(scheduler: Scheduler, damage: Damage) {
    this.#scheduler = scheduler;
    this.damage = damage;
  }

  hang(duration: number): void {
    this.#hangsUntil = Math.max(this.#hangsUntil, this.#scheduler.now + duration);
  }

  whenAwake(arrive: () => void | Promise<void>): void | Promise<void> {
    if (this.#scheduler.now >= this.#hangsUntil) return arrive();
    this.#scheduler.at(this.#hangsUntil, () => this.whenAwake(arrive));
  }
}

/** What leads to the one server. */
export class ServerGate extends Door implements Gate {
  readonly server: SimulatedServer;

  constructor(scheduler: Scheduler, server: SimulatedServer, damage: Damage) {
    super(scheduler, damage);
    this.server = server;
  }

  execute(process: string, operation: string, call: object, way: Way): Promise<unknown> {
    const name = OPERATIONS.find((one): one is OperationName => one === operation);
    if (name === undefined) throw new Error(`the server has no ${operation}`);
    return this.server.execute(process, name, call as Call | readonly Call[], way);
  }

  disconnectAll(): void {
    this.server.disconnectAll();
  }

  loseData(): void {
    this.server.loseData();
  }

  goBack(span: number): void {
    this.server.goBack(span);
  }

  step(by: number): void {
    this.server.step(by);
  }

  remains(names: readonly SemaphoreTerms[]): Promise<{ held: number; waiting: number }> {
    return this.server.remains(names);
  }

  subscribe(client: string, prefix: string, listener: PushListener): () => void {
    return this.server.subscribe(client, prefix, listener);
  }
}
