import type { SemaphoreTerms } from '../../history/events.js';
import { Damage } from './damage.js';
import type { Scheduler } from './scheduler.js';
import type { PushListener } from './server.js';

/** How a call has come. */
export interface Way {
  /** When it was made. */
  readonly sent: number;
  /** Its answer will reach nobody. */
  readonly unheard: boolean;
}

/** A server that may hang, or be away: what a network leads to. */
export abstract class Gate {
  /** False while nobody can connect. */
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
  abstract subscribe(client: string, prefix: string, listener: PushListener): () => void;
  abstract disconnectAll(): void;
  /** Comes back with nothing. */
  abstract loseData(): void;
  /** Comes back with the data as they were this many milliseconds ago. */
  abstract goBack(span: number): void;
  /** Sets the clock. */
  abstract step(by: number): void;
  /** What it still holds of some semaphores. */
  abstract remains(names: readonly SemaphoreTerms[]): Promise<{ held: number; waiting: number }>;
}
