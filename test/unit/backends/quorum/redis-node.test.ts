import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';

import { RedisQuorumNode } from '../../../../src/backends/quorum/redis-node.js';

describe('node of a quorum', () => {
  const tickets = [{ id: 'c.1', attempt: Infinity }];

  /** `line`: what a call gets for each semaphore. `running`: when it runs. */
  function nodeWith(line: string, running: Promise<unknown> = Promise.resolve()) {
    const sent: string[] = [];
    const answer = async (kind: string, keys: readonly string[]): Promise<string> => {
      sent.push(`${kind} ${keys.length / 2}`);
      await running;
      return ['1700000000000000', ...keys.filter((_, i) => i % 2 === 0).map(() => line)].join('\n');
    };
    const node = new RedisQuorumNode({
      runBySha: (_sha1, keys) => answer('sha', keys),
      runByText: (_text, keys) => answer('text', keys),
    });
    const drop = (name: string) => node.drop({ key: { prefix: 'p', name }, tickets });
    return { sent, drop };
  }

  it('gets the text of a script until it has run it, so that no call of it is sent twice and overtaken', async () => {
    const { sent, drop } = nodeWith('1', nextTurn());
    const first = drop('n');
    await Promise.resolve();
    await Promise.all([first, drop('n')]);
    await drop('n');
    expect(sent).to.deep.equal(['text 1', 'text 1', 'sha 1']);
    const failing = nodeWith('1', Promise.reject(new Error('LOADING')));
    for (let i = 0; i < 2; i += 1) await failing.drop('n').catch(() => undefined);
    expect(failing.sent).to.deep.equal(['text 1', 'text 1']);
  });

  it('has an error, not a reply, for a line that is not of the script', async () => {
    for (const line of ['', '11', '!WRONGTYPE Operation against a key']) {
      const { drop } = nodeWith(line);
      const reason = await drop('n').catch((error: unknown) => String(error));
      expect(reason).to.match(line.startsWith('!') ? /^Error: WRONGTYPE Op/ : /unexpected reply/);
    }
  });
});
