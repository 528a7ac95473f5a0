import { expect } from 'chai';

import { RedisQuorumNode } from '../../../../src/backends/quorum/redis-node.js';

describe('node of a quorum', () => {
  const key = { prefix: 'p', name: 'n' };
  const tickets = [{ id: 'c.1', attempt: Infinity }];

  function node(first: Promise<unknown> = Promise.resolve()) {
    const sent: string[] = [];
    const reply = '1700000000000000|1';
    const runBySha = () => {
      sent.push('sha');
      return Promise.resolve(reply);
    };
    const runByText = () => {
      sent.push('text');
      return first.then(() => reply);
    };
    return { sent, node: new RedisQuorumNode({ runBySha, runByText }) };
  }

  it('gets the text of a script until it has run it, so that no call of it is sent twice and overtaken', async () => {
    const { sent, node: asked } = node();
    await Promise.all([asked.drop({ key, tickets }), asked.drop({ key, tickets })]);
    await asked.drop({ key, tickets });
    expect(sent).to.deep.equal(['text', 'text', 'sha']);
    const failing = node(Promise.reject(new Error('LOADING')));
    for (let i = 0; i < 2; i += 1) await failing.node.drop({ key, tickets }).catch(() => undefined);
    expect(failing.sent).to.deep.equal(['text', 'text']);
  });
});
