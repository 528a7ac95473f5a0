import { getEventListeners } from 'node:events';
import { expect } from 'chai';

import { type AcquireParams, AcquireRequest } from '../../../src/engine/acquire-request.js';
import { AcquireTimeoutError, type QueueProgress } from '../../../src/index.js';
import { CallTimeoutError } from '../../../src/time/call-timeout.js';

describe('a request for a permit', () => {
  const terms = { key: { name: 'jobs', prefix: 'p' }, limit: 3 };

  function request(params: Partial<AcquireParams> = {}): AcquireRequest {
    const made = new AcquireRequest(
      'id',
      { permits: 1, timeout: 500, signal: undefined, ...params },
      100,
      5000,
    );
    made.outcome.catch(() => undefined);
    return made;
  }

  it('says what is new of its place at most once a second', () => {
    const heard: QueueProgress[] = [];
    const waiting = request({ onWaiting: (progress) => void heard.push(progress) });
    const tell = (position: number, now: number): void => {
      const progress = { position, waiting: 9, estimate: undefined };
      waiting.queue({ kind: 'queued', arrival: 1, progress }, now);
    };
    for (const [position, now] of [
      [5, 0],
      [4, 999],
      [5, 1000],
      [3, 1000],
      [2, 1999],
      [1, 2000],
    ] as const) {
      tell(position, now);
    }
    expect(heard.map(({ position }) => position)).to.deep.equal([5, 3, 1]);
  });

  it('counts the calls that have left in the error of its time, and says what was wrong with the last', () => {
    const made = request();
    const errorAt = (
      now: number,
    ): Error & { readonly cause?: unknown; readonly attempts?: number } =>
      made.timeoutError(terms, now);
    const seen = (now: number) => [
      errorAt(now).attempts,
      errorAt(now).cause instanceof CallTimeoutError,
    ];
    expect(seen(600)).to.deep.equal([0, false]);
    // It gathers with others, and has not left.
    made.onSend(600);
    expect(seen(600)).to.deep.equal([0, false]);
    made.sent = true;
    expect(seen(600)).to.deep.equal([1, true]);
    made.queue({ kind: 'queued', arrival: 1, progress: undefined }, 610);
    expect([seen(649), seen(650)]).to.deep.equal([
      [1, false],
      [1, true],
    ]);
    made.onReply();
    expect(seen(9000)).to.deep.equal([1, false]);
    made.lastError = new Error('down');
    expect(errorAt(700))
      .to.be.instanceOf(AcquireTimeoutError)
      .with.property('cause', made.lastError);
  });

  it('leaves its signal alone once it has ended', () => {
    const { signal } = new AbortController();
    const ways: ((made: AcquireRequest) => void)[] = [
      (made) => made.grant({} as never),
      (made) => made.refuse(terms, 600),
      (made) => made.fail(new Error('failed')),
      (made) => made.abandon(new Error('over')),
    ];
    for (const end of ways) {
      const made = request({ signal });
      made.onAbort(() => undefined);
      end(made);
      expect([made.pending, getEventListeners(signal, 'abort')]).to.deep.equal([false, []]);
    }
  });
});
