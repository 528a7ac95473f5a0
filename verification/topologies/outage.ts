import { expect } from 'chai';

import type { Handle, HandleLostError, Semaphore } from '../../src/index.js';
import { AcquireTimeoutError } from '../../src/index.js';
import { eventually } from '../../test/support/eventually.js';
import { LATE_MS, timedRejection } from '../support/timed.js';

/** Whether, when and why a handle is lost. */
export class LossWatch {
  readonly #losses: { readonly at: number; readonly error: HandleLostError }[] = [];

  constructor(handle: Handle) {
    handle.on('lost', (error) => this.#losses.push({ at: performance.now(), error }));
  }

  /** It is lost, once, because its lease ran out: no later than one ttl after nobody answered any more. */
  async expectLostWithin(ttl: number, since: number): Promise<void> {
    await eventually(() => expect(this.#losses).to.have.length(1));
    const [loss] = this.#losses;
    expect(loss?.error.reason).to.equal('expired');
    expect((loss?.at ?? Infinity) - since).to.be.at.most(ttl + LATE_MS);
  }

  expectKept(): void {
    expect(this.#losses.map(({ error }) => error.reason)).to.deep.equal([]);
  }
}

/** While nobody answers, a call still ends with its own timeout (P5). */
export async function expectBounded(semaphore: Semaphore, timeout: number): Promise<void> {
  const { took, error } = await timedRejection(() => semaphore.acquire(timeout));
  expect(error).to.be.instanceOf(AcquireTimeoutError);
  expect(took).to.be.at.most(timeout + LATE_MS);
}
