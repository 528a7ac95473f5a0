import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Semaphore } from '../../src/index.js';
import { eventually } from '../../test/support/eventually.js';

/** Longer than until a holder claims its ticket, in milliseconds. */
const HOLD = 150;

/** Milliseconds for some of them: shorter than two claim times, or than a ttl. */
const PATIENCE = 10_000;

export const WORKERS = 8;

/** Workers that want the one permit all the time. */
export class Crew {
  readonly #semaphore: Semaphore;
  readonly #workers: Promise<void>[];
  readonly #settled = new Set<string>();
  #served = 0;
  #stopped = false;

  /** `semaphore`: with a limit of 1, and for nobody else. */
  static async start(semaphore: Semaphore): Promise<Crew> {
    const crew = new Crew(semaphore);
    await crew.serve(5);
    return crew;
  }

  constructor(semaphore: Semaphore) {
    this.#semaphore = semaphore;
    this.#workers = Array.from({ length: WORKERS }, () => this.#work());
    // Where a test fails they are rejected with nobody waiting for them.
    void Promise.allSettled(this.#workers);
  }

  /** Waits for a ticket that would stay for its whole ttl if it were left alone. */
  async claimed(): Promise<void> {
    await eventually(async () => {
      const { holders } = await this.#semaphore.inspect();
      return holders.some(({ expiresIn }) => expiresIn > 10_000);
    }, 'a ticket is claimed');
  }

  /** The ids of all whose permits were given back. */
  get settled(): readonly string[] {
    return [...this.#settled];
  }

  /** Waits until so many more were served: with one ticket of somebody who is gone this would take too long. */
  async serve(count: number): Promise<void> {
    const enough = this.#served + count;
    const began = performance.now();
    await eventually(() => this.#served >= enough, `${count} are served`);
    expect(performance.now() - began, `ms until ${count} were served`).to.be.below(PATIENCE);
  }

  /** None of these has a ticket, or waits. */
  async expectGone(ids: readonly string[]): Promise<void> {
    const { holders, waiters } = await this.#semaphore.inspect();
    const stored = new Set([...holders, ...waiters].map(({ id }) => id));
    expect(ids.filter((id) => stored.has(id))).to.deep.equal([]);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#workers);
    expect(await this.#semaphore.inspect()).to.include({ held: 0, waiting: 0 });
  }

  async #work(): Promise<void> {
    while (!this.#stopped) {
      const handle = await this.#semaphore.acquire();
      await sleep(HOLD);
      // Where data is lost the permit is, too.
      await handle.release().catch(() => undefined);
      this.#settled.add(handle.id);
      this.#served += 1;
    }
  }
}
