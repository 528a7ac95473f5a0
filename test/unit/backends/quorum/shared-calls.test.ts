import { expect } from 'chai';

import { CallTimeoutError } from '../../../../src/time/call-timeout.js';
import { RedisQuorumNode } from '../../../../src/backends/quorum/redis-node.js';
import { ManualClock } from '../../../../src/index.js';

/** What the node says of each semaphore. */
type Lines = readonly string[];

// What every batcher does is in test/unit/core/batcher.test.ts.
describe('calls to a node of a quorum', () => {
  let clock: ManualClock;
  /** Names in each call. */
  let sent: string[];
  let answer: (names: readonly string[]) => Promise<Lines>;
  let node: RedisQuorumNode;

  /** Gives the name in upper case. */
  const add = async (name: string, permits = 1, timeoutMs = 100): Promise<string> => {
    const tickets = [{ id: `c.1.${permits}`, attempt: Infinity }];
    const { dropped } = await node.drop({ key: { prefix: 'p', name }, tickets, timeoutMs });
    return dropped[0] === true ? name.toUpperCase() : 'not dropped';
  };
  const outcomes = async (adding: readonly Promise<string>[]): Promise<unknown[]> =>
    (await Promise.allSettled(adding)).map((one) =>
      one.status === 'fulfilled' ? one.value : String(one.reason),
    );
  const upper = (names: readonly string[]): Promise<Lines> => Promise.resolve(names.map(() => '1'));

  beforeEach(() => {
    clock = new ManualClock();
    sent = [];
    answer = upper;
    const run = async (_script: string, keys: readonly string[]): Promise<string> => {
      const names = keys.flatMap((key) => /\{(.)\}:qslots/.exec(key)?.[1] ?? []);
      sent.push(names.join(''));
      return ['1700000000000000', ...(await answer(names))].join('\n');
    };
    node = new RedisQuorumNode({ runBySha: run, runByText: run }, undefined, clock);
  });

  it('carry at most 100 permits, but for a semaphore that has more', async () => {
    const adding = [add('a', 60), add('b', 40), add('c', 1), add('d', 500), add('e', 1)];
    expect(await outcomes(adding)).to.deep.equal(['A', 'B', 'C', 'D', 'E']);
    expect(sent).to.deep.equal(['ab', 'c', 'd', 'e']);
  });

  it('make room when the first caller of a call without a reply stops waiting, and give a reply that is late', async () => {
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

  it('give a semaphore its own error, and the others their replies, in the same call', async () => {
    answer = (names) =>
      Promise.resolve(names.map((name) => (name === 'b' ? '!NOPERM no right' : '1')));
    const adding = ['a', 'b', 'c'].map((name) => add(name));
    expect(await outcomes(adding)).to.deep.equal(['A', 'Error: NOPERM no right', 'C']);
    expect(sent).to.deep.equal(['abc']);
  });
});
