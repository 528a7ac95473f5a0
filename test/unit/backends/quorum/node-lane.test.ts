import { expect } from 'chai';

import { CallTimeoutError } from '../../../../src/time/call-timeout.js';
import { NodeLane } from '../../../../src/backends/quorum/node-lane.js';
import { ManualClock } from '../../../../src/index.js';

interface Item {
  readonly name: string;
  readonly permits: number;
  readonly timeoutMs: number;
}

type Replies = readonly (string | Error)[];

const REFUSED = new Error('NOPERM');

describe('lane of a node', () => {
  let clock: ManualClock;
  /** Names in each call. */
  let sent: string[];
  let answer: (names: readonly string[]) => Promise<Replies>;
  let lane: NodeLane<Item, string>;

  const add = (name: string, permits = 1, timeoutMs = 100): Promise<string> =>
    lane.add({ name, permits, timeoutMs });
  const outcomes = async (adding: readonly Promise<string>[]): Promise<unknown[]> =>
    (await Promise.allSettled(adding)).map((one) =>
      one.status === 'fulfilled' ? one.value : String(one.reason),
    );
  const upper = (names: readonly string[]): Promise<Replies> =>
    Promise.resolve(names.map((name) => name.toUpperCase()));
  const failWith = (bad: string): void => {
    answer = (names) => (names.includes(bad) ? Promise.reject(REFUSED) : upper(names));
  };

  beforeEach(() => {
    clock = new ManualClock();
    sent = [];
    answer = upper;
    lane = new NodeLane({
      clock,
      send: (items) => {
        const names = items.map(({ name }) => name);
        sent.push(names.join(''));
        return answer(names);
      },
      isRetryable: (error) => error !== REFUSED,
    });
  });

  it('sends at most 100 permits in one call, but for an item that has more', async () => {
    const adding = [add('a', 60), add('b', 40), add('c', 1), add('d', 500), add('e', 1)];
    expect(await outcomes(adding)).to.deep.equal(['A', 'B', 'C', 'D', 'E']);
    expect(sent).to.deep.equal(['ab', 'c', 'd', 'e']);
  });

  it('has two calls under way, and gathers meanwhile', async () => {
    const settle: (() => void)[] = [];
    answer = (names) => new Promise((resolve) => settle.push(() => resolve(upper(names))));
    const adding: Promise<string>[] = [];
    for (const name of ['a', 'b', 'c', 'd']) {
      adding.push(add(name));
      await clock.advance(0);
    }
    expect(sent).to.deep.equal(['a', 'b']);
    settle[1]?.();
    await clock.advance(0);
    expect(sent).to.deep.equal(['a', 'b', 'cd']);
    for (const one of settle) one();
    expect(await outcomes(adding)).to.deep.equal(['A', 'B', 'C', 'D']);
  });

  it('makes room when the first caller of a call without a reply stops waiting, and gives a reply that is late', async () => {
    const settle: (() => void)[] = [];
    answer = (names) => new Promise((resolve) => settle.push(() => resolve(upper(names))));
    const lost = outcomes([add('a', 100, 100), add('b', 50, 100), add('c', 50, 30)]);
    await clock.advance(0);
    const waiting = outcomes([add('d', 1, 20), add('e', 1, 60)]);
    await clock.advance(29);
    expect(sent).to.deep.equal(['a', 'bc']);
    await clock.advance(2);
    // What nobody waits for any more is never sent.
    expect(sent).to.deep.equal(['a', 'bc', 'e']);
    for (const one of settle) one();
    expect(await waiting).to.deep.equal([String(new CallTimeoutError(20)), 'E']);
    expect(await lost).to.deep.equal(['A', 'B', 'C']);
    await clock.advance(0);
    expect(clock.timers).to.equal(0);
  });

  it('gives an item its own error, and the others their replies, in the same call', async () => {
    answer = async (names) =>
      (await upper(names)).map((reply) => (reply === 'B' ? REFUSED : reply));
    const adding = ['a', 'b', 'c'].map((name) => add(name));
    expect(await outcomes(adding)).to.deep.equal(['A', 'Error: NOPERM', 'C']);
    expect(sent).to.deep.equal(['abc']);
  });

  it('repeats each alone after a call was refused, and keeps the one that is the reason apart for 5 s', async () => {
    failWith('b');
    const names = ['a', 'b', 'c', 'd'];
    const expected = ['A', 'Error: NOPERM', 'C', 'D'];
    expect(await outcomes(names.map((name) => add(name)))).to.deep.equal(expected);
    expect(sent.splice(0)).to.deep.equal(['abcd', 'a', 'b', 'c', 'd']);
    await clock.advance(4999);
    expect(await outcomes(names.map((name) => add(name)))).to.deep.equal(expected);
    expect(sent.splice(0)).to.deep.equal(['b', 'acd']);
    answer = upper;
    await clock.advance(5000);
    expect(await outcomes(names.map((name) => add(name)))).to.deep.equal(['A', 'B', 'C', 'D']);
    expect(sent).to.deep.equal(['abcd']);
  });

  it('repeats nothing after an error that passes by itself', async () => {
    answer = () => Promise.reject(new Error('LOADING'));
    const adding = ['a', 'b'].map((name) => add(name));
    expect(await outcomes(adding)).to.deep.equal(['Error: LOADING', 'Error: LOADING']);
    answer = upper;
    expect(await outcomes(['a', 'b'].map((name) => add(name)))).to.deep.equal(['A', 'B']);
    expect(sent).to.deep.equal(['ab', 'ab']);
  });
});
