import { getEventListeners } from 'node:events';
import { expect } from 'chai';

import { type RetryOptions, retryUntilDeadline } from '../../../src/core/retry.js';
import { BackendError, ManualClock } from '../../../src/index.js';
import { CallTimeoutError } from '../../../src/time/call-timeout.js';
import { errorOf, reasonOf } from '../../support/rejection.js';
import { gaps, PLAIN } from '../stub-fixture.js';

describe('a call that is retried until its deadline', () => {
  /** `answers`, one a try; a number: the try says nothing for so long. */
  function retrying(answers: readonly unknown[], options: Partial<RetryOptions> = {}) {
    const clock = new ManualClock(1e12);
    const tries: number[] = [];
    const call = async (): Promise<unknown> => {
      const answer = answers[tries.push(clock.monotonic()) - 1];
      if (answer instanceof Error) throw answer;
      if (typeof answer !== 'number') return answer;
      return new Promise((resolve) => clock.schedule(() => resolve('late'), answer));
    };
    const all = { clock, retry: PLAIN, timeoutMs: 1000, isRetryable: () => true, ...options };
    return { clock, tries, outcome: retryUntilDeadline(all, 'a look', call) };
  }

  const down = new Error('down');

  it('is tried again after pauses that grow, without a signal too', async () => {
    const { clock, tries, outcome } = retrying([down, down, down, down, 'done']);
    await clock.advance(1000);
    expect([await outcome, gaps(tries)]).to.deep.equal(['done', [10, 20, 40, 80]]);
  });

  it('fails with the error of an earlier try, not with the silence behind it', async () => {
    const { clock, tries, outcome } = retrying([down, 5000]);
    const error = errorOf(outcome, BackendError);
    await clock.advance(1000);
    expect([await error, tries.length]).to.deep.equal([await error, 2]);
    expect(await error)
      .to.be.instanceOf(BackendError)
      .with.property('cause', down);
    const silent = retrying([5000]);
    const late = errorOf(silent.outcome, BackendError);
    await silent.clock.advance(1000);
    expect((await late).cause).to.be.instanceOf(CallTimeoutError);
  });

  it('fails at once where another try cannot help, with the last error', async () => {
    const refused = new Error('refused');
    const given = { isRetryable: (error: unknown) => error !== refused };
    const { clock, outcome } = retrying([down, refused, 'done'], given);
    const error = errorOf(outcome, BackendError);
    await clock.advance(10);
    expect((await error).cause).to.equal(refused);
  });

  it('ends its pause with its signal, and leaves no listener and no timer', async () => {
    const { signal } = new AbortController();
    const first = retrying([down, 'done'], { signal });
    await first.clock.advance(10);
    expect([await first.outcome, getEventListeners(signal, 'abort')]).to.deep.equal(['done', []]);
    const controller = new AbortController();
    const aborted = retrying([down, 'done'], { signal: controller.signal });
    await aborted.clock.advance(5);
    controller.abort('enough');
    expect(await reasonOf(aborted.outcome)).to.equal('enough');
    expect([aborted.tries.length, aborted.clock.timers]).to.deep.equal([1, 0]);
    const before = retrying([down], { signal: AbortSignal.abort('before') });
    expect(await reasonOf(before.outcome)).to.equal('before');
  });
});
