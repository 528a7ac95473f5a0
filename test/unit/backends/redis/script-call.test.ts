import { expect } from 'chai';

import type { AcquireCall, AcquireReply } from '../../../../src/backends/backend.js';
import { acquireOperation } from '../../../../src/backends/redis/operations.js';
import { partsOf, UnexpectedReplyError } from '../../../../src/backends/redis/replies.js';
import { readReplies, scriptCalls } from '../../../../src/backends/redis/script-call.js';

const NOW = '1700000000000001';

function acquire(name: string, limit: number, notAfter?: number, prefix = 'p'): AcquireCall {
  const requests = [{ id: `c.${name}`, permits: 1, wait: true, arrival: undefined }];
  const terms = { client: 'c', limit, ttl: 100, label: 'a b', notAfter };
  return { key: { prefix, name }, ...terms, requests };
}

// What the scripts make of it is in test/scripts, in lock-step.
it('a script call names equal terms once, keys in the order of the runs, and one prefix', () => {
  const calls = [acquire('x', 1), acquire('y', 2), acquire('z', 1, 1), acquire('w', 1)];
  calls.push(acquire('x', 2), acquire('y', 1), acquire('y', 1, undefined, 'q'));
  const sent = scriptCalls(calls, acquireOperation, '*');
  const runs = [
    ['*p:inbox:c', '1', '100000', 'a%20b', '', 'c.x', 'c.w'],
    ['', '2', '100000', 'a%20b', '', 'c.y', 'c.x'],
    ['', '1', '100000', 'a%20b', '0000000000001000', 'c.z'],
    // The second call of a semaphore stays behind its first.
    ['', '1', '100000', 'a%20b', '', 'c.y'],
  ];
  const other = ['*q:inbox:c', '1', '100000', 'a%20b', '', 'c.y'];
  expect(sent.map(({ args }) => args)).to.deep.equal([runs.flat(), other]);
  expect(sent[0]?.keys.filter((key) => key.endsWith('meta'))).to.deep.equal(
    ['x', 'w', 'y', 'x', 'z', 'y'].map((name) => `p:{${name}}:meta`),
  );
  const replies: AcquireReply[] = [];
  const tokens = ['|0 11|0 12|0 13|0 14|b|0 15', '|0 16'];
  for (const [i, call] of sent.entries()) {
    const parts = partsOf('acquire', NOW + tokens[i]);
    readReplies(call, parts, acquireOperation, replies);
    for (const wrong of [parts.slice(1), [...parts, ...parts]]) {
      expect(() => readReplies(call, wrong, acquireOperation, [])).to.throw(UnexpectedReplyError);
    }
  }
  const verdicts = replies.map(({ verdicts: [one] }) => one);
  const shown = verdicts.map((one) => (one?.kind === 'granted' ? one.fencingToken : one?.kind));
  expect(shown.join()).to.equal('11,13,busy,12,14,15,16');
});
