import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';

import { RedisQuorumNode } from '../../../../src/backends/quorum/redis-node.js';
import { ManualClock } from '../../../../src/index.js';
import { CallTimeoutError } from '../../../../src/time/call-timeout.js';

// test/unit/core/batcher.test.ts has the rules of every batcher.
describe('a node of a quorum', () => {
  let clock: ManualClock;
  /** The kind of each call, and the names in it. */
  let sent: string[];
  /** The line of a reply for each name. */
  let answer: (names: readonly string[]) => Promise<readonly string[]>;
  let node: RedisQuorumNode;
  const ones = (names: readonly string[]): Promise<string[]> =>
    Promise.resolve(names.map(() => '1'));

  beforeEach(() => {
    clock = new ManualClock();
    sent = [];
    answer = ones;
    const run = async (kind: string, keys: readonly string[]): Promise<string> => {
      const names = keys.flatMap((key) => /\{(.)\}:qslots/.exec(key)?.[1] ?? []);
      sent.push(`${kind} ${names.join('')}`);
      return ['1700000000000000', ...(await answer(names))].join('\n');
    };
    const connection = {
      runBySha: (_sha1: string, keys: readonly string[]) => run('sha', keys),
      runByText: (_text: string, keys: readonly string[]) => run('text', keys),
    };
    node = new RedisQuorumNode(connection, undefined, clock);
  });

  /** Gives the name in upper case. */
  async function drop(name: string, permits = 1, timeoutMs = 100): Promise<string> {
    const tickets = [{ id: `c.1.${permits}`, attempt: Infinity }];
    const { dropped } = await node.drop({ key: { prefix: 'p', name }, tickets, timeoutMs });
    return dropped[0] === true ? name.toUpperCase() : 'not dropped';
  }

  async function outcomes(drops: readonly Promise<string>[]): Promise<string[]> {
    const settled = await Promise.allSettled(drops);
    return settled.map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason)));
  }

  it('sends the text of a script until it has run, so that no call is sent twice and overtaken', async () => {
    answer = (names) => nextTurn(names.map(() => '1'));
    const first = drop('n');
    await Promise.resolve();
    await Promise.all([first, drop('n')]);
    await drop('n');
    expect(sent).to.deep.equal(['text n', 'text n', 'sha n']);
  });

  it('sends the text of a script again after a call that failed', async () => {
    answer = () => Promise.reject(new Error('LOADING'));
    for (let i = 0; i < 2; i += 1) await outcomes([drop('n')]);
    expect(sent).to.deep.equal(['text n', 'text n']);
  });

  for (const line of ['', '11', '!NOPERM no right']) {
    it(`gives a semaphore an error for the line ${JSON.stringify(line)}, and its neighbours their replies`, async () => {
      answer = (names) => Promise.resolve(names.map((name) => (name === 'b' ? line : '1')));
      const [a, b, c] = await outcomes(['a', 'b', 'c'].map((name) => drop(name)));
      expect([a, c, sent]).to.deep.equal(['A', 'C', ['text abc']]);
      expect(b).to.match(line.startsWith('!') ? /^Error: NOPERM no right$/ : /unexpected reply/);
    });
  }

  it('sends at most 100 permits in a call, but for a semaphore that has more', async () => {
    const drops = [drop('a', 60), drop('b', 40), drop('c', 1), drop('d', 500), drop('e', 1)];
    expect(await outcomes(drops)).to.deep.equal(['A', 'B', 'C', 'D', 'E']);
    expect(sent).to.deep.equal(['text ab', 'text c', 'sha d', 'sha e']);
  });

  it('makes room when the first caller of a silent call stops waiting, and gives a late reply', async () => {
    const settle: (() => void)[] = [];
    answer = (names) => new Promise((resolve) => settle.push(() => resolve(ones(names))));
    const late = outcomes([drop('a', 100, 100), drop('b', 50, 100), drop('c', 50, 30)]);
    await clock.advance(0);
    const waiting = outcomes([drop('d', 1, 20), drop('e', 1, 60)]);
    await clock.advance(29);
    expect(sent).to.deep.equal(['text a', 'text bc']);
    await clock.advance(2);
    // A call without a caller is never sent.
    expect(sent).to.deep.equal(['text a', 'text bc', 'text e']);
    for (const one of settle) one();
    expect(await waiting).to.deep.equal([String(new CallTimeoutError(20)), 'E']);
    expect(await late).to.deep.equal(['A', 'B', 'C']);
    await clock.advance(0);
    expect(clock.timers).to.equal(0);
  });
});
