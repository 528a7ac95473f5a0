import { expect } from 'chai';

import type { AcquireCall } from '../../../../src/backends/backend.js';
import { acquire } from '../../../../src/backends/redis/acquire.js';
import { inOrder, readReplies, scriptCalls } from '../../../../src/backends/redis/operation.js';
import { UnexpectedReplyError } from '../../../../src/backends/redis/wire-text.js';

const NOW = '1700000000000001';

function callOf(name: string, limit: number, notAfter?: number, prefix = 'p'): AcquireCall {
  const requests = [{ id: `c.${name}`, permits: 1, wait: true, arrival: undefined }];
  const terms = { client: 'c', limit, ttl: 100, label: 'a b', notAfter };
  return { key: { prefix, name }, ...terms, requests };
}

// What the scripts make of it is in test/scripts, in lock-step.
it('a script call names equal terms once, the keys in the order of the runs, and a prefix', () => {
  const calls = [callOf('x', 1), callOf('y', 2), callOf('z', 1, 1), callOf('w', 1)];
  calls.push(callOf('x', 2), callOf('y', 1), callOf('y', 1, undefined, 'q'));
  const sent = scriptCalls(calls, acquire, '*');
  const runs = [
    ['*p:inbox:c', '1', '100000', 'a%20b', '', 'c.x', 'c.w'],
    ['', '2', '100000', 'a%20b', '', 'c.y', 'c.x'],
    ['', '1', '100000', 'a%20b', '0000000000001000', 'c.z'],
    // The second call of a semaphore stays behind its first.
    ['', '1', '100000', 'a%20b', '', 'c.y'],
  ];
  const other = ['*q:inbox:c', '1', '100000', 'a%20b', '', 'c.y'];
  expect(sent.map(({ args }) => args)).to.deep.equal([runs.flat(), other]);
  expect(sent[0]?.keys.filter((key) => key.endsWith('info'))).to.deep.equal(
    ['x', 'w', 'y', 'x', 'z', 'y'].map((name) => `p:{${name}}:info`),
  );
  const texts = ['|0 11|0 12|0 13|0 14|b|0 15', '|0 16'].map((text) => NOW + text);
  const read = sent.map((call, i) => readReplies(texts[i], call, acquire));
  for (const [i, call] of sent.entries()) {
    for (const wrong of [`${NOW}|0 11|0 12`, `${texts[i]}|0 17`]) {
      expect(() => readReplies(wrong, call, acquire)).to.throw(UnexpectedReplyError);
    }
  }
  const replies = inOrder(calls, sent, read);
  const verdicts = replies.map(({ verdicts: [one] }) => one);
  const shown = verdicts.map((one) => (one?.kind === 'granted' ? one.fencingToken : one?.kind));
  expect(shown.join()).to.equal('11,13,busy,12,14,15,16');
});
