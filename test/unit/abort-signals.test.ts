import { expect } from 'chai';
import { getEventListeners } from 'node:events';

import { forgetAbort, onceAborted } from '../../src/abort-signals.js';

describe('listening to abort signals', () => {
  it('puts one listener on a signal for any number of calls, and takes it off with the last', () => {
    const { signal } = new AbortController();
    const listeners = Array.from({ length: 50 }, () => () => {});
    for (const listener of listeners) onceAborted(signal, listener);
    expect(getEventListeners(signal, 'abort')).to.have.length(1);
    for (const listener of listeners.slice(1)) forgetAbort(signal, listener);
    expect(getEventListeners(signal, 'abort')).to.have.length(1);
    forgetAbort(signal, listeners[0] ?? (() => {}));
    expect(getEventListeners(signal, 'abort')).to.have.length(0);
  });

  it('tells each once, and those who were forgotten not at all', () => {
    const controller = new AbortController();
    const told: number[] = [];
    const listeners = [1, 2, 3].map((number) => () => void told.push(number));
    for (const listener of listeners) onceAborted(controller.signal, listener);
    forgetAbort(controller.signal, listeners[1] ?? (() => {}));
    controller.abort();
    controller.abort();
    expect(told).to.deep.equal([1, 3]);
  });

  it('tells all when one forgets another meanwhile, but not that one', () => {
    const controller = new AbortController();
    const told: string[] = [];
    const second = (): void => void told.push('second');
    onceAborted(controller.signal, () => {
      told.push('first');
      forgetAbort(controller.signal, () => {});
    });
    onceAborted(controller.signal, second);
    controller.abort();
    expect(told).to.deep.equal(['first', 'second']);
  });

  it('keeps signals apart, and can listen again after it forgot', () => {
    const [one, two] = [new AbortController(), new AbortController()];
    const told: string[] = [];
    const listener = (): void => void told.push('called');
    onceAborted(one.signal, listener);
    forgetAbort(two.signal, listener);
    forgetAbort(one.signal, listener);
    onceAborted(one.signal, listener);
    two.abort();
    expect(told).to.deep.equal([]);
    one.abort();
    expect(told).to.deep.equal(['called']);
  });
});
