import type { SemaphoreSettings } from '../../history/events.js';
import { Damage } from './damage.js';
import type { Scheduler } from './scheduler.js';
import type { PushListener } from './server.js';

/** How a call came to the server. */
export interface Way {
  /** When its client sent it. */
  readonly sent: number;
  /** Its answer will reach no process. */
  readonly unheard: boolean;
}

/** A server at the end of a network: it may hang, or be away. */
export abstract class Gate {
  /** False while no process can connect. */
  up = true;
  readonly damage: Damage = new Damage();
  protected readonly scheduler: Scheduler;
  #hangsUntil = 0;

  constructor(scheduler: Scheduler) {
    this.scheduler = scheduler;
  }

  hang(duration: number): void {
    this.#hangsUntil = Math.max(this.#hangsUntil, this.scheduler.now + duration);
  }

  /** Runs `arrive` when the server reads again: at once unless it hangs. */
  whenAwake(arrive: () => void | Promise<void>): void | Promise<void> {
    if (this.scheduler.now >= this.#hangsUntil) return arrive();
    this.scheduler.at(this.#hangsUntil, () => this.whenAwake(arrive));
  }

  abstract execute(process: string, operation: string, call: object, way: Way): Promise<unknown>;
  /** The server comes back without data. */
  abstract loseData(): void;
  /** The permits and requests that it still has of some semaphores. */
  abstract remains(names: readonly SemaphoreSettings[]): Promise<{ held: number; waiting: number }>;

  disconnectAll(): void {}

  subscribe(_client: string, _prefix: string, _listener: PushListener): () => void {
    throw new Error('a quorum pushes nothing');
  }

  /** The server comes back with the data of this many milliseconds ago. */
  goBack(_span: number): void {
    throw new Error('a node of a quorum must not come back with old data');
  }

  /** Sets the clock. */
  step(_by: number): void {
    throw new Error('the clock of a node of a quorum is not stepped');
  }
}
