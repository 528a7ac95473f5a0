import { expect } from 'chai';

import type { AcquireCall } from '../../../../src/backends/backend.js';
import { acquire, together } from '../../../../src/backends/redis/acquire.js';
import { argumentsOf, keysOfAll, readReplies } from '../../../../src/backends/redis/operation.js';
import { UnexpectedReplyError } from '../../../../src/backends/redis/wire-text.js';

const NOW = '1700000000000001';

function callOf(name: string, limit: number, notAfter?: number): AcquireCall {
  const requests = [{ id: `c.${name}`, permits: 1, wait: true, arrival: undefined }];
  const rest = { client: 'c', limit, ttl: 100, label: 'a b', notAfter };
  return { key: { prefix: 'p', name }, ...rest, requests };
}

// What the scripts make of it is in test/scripts, in lock-step.
it('a script call names what neighbours share once, and the keys in the order of the calls', () => {
  const calls = [callOf('x', 1), callOf('w', 1), callOf('y', 2), callOf('x', 2), callOf('z', 2, 1)];
  const runs = [
    ['*p:inbox:c', '1', '100000', 'a%20b', '', 'c.x', 'c.w'],
    ['', '2', '100000', 'a%20b', '', 'c.y', 'c.x'],
    ['', '2', '100000', 'a%20b', '0000000000001000', 'c.z'],
  ];
  expect(argumentsOf(calls, together)).to.deep.equal(runs.flat());
  expect(keysOfAll(calls).filter((key) => key.endsWith('info'))).to.deep.equal(
    ['x', 'w', 'y', 'x', 'z'].map((name) => `p:{${name}}:info`),
  );
  const text = `${NOW}|0 11|0 12|b|0 13|0 14`;
  for (const wrong of [`${NOW}|0 11|0 12`, `${text}|0 15`]) {
    expect(() => readReplies(wrong, calls, acquire)).to.throw(UnexpectedReplyError);
  }
  const verdicts = readReplies(text, calls, acquire).map((reply) => reply.verdicts[0]);
  const shown = verdicts.map((one) => (one?.kind === 'granted' ? one.fencingToken : one?.kind));
  expect(shown.join()).to.equal('11,12,busy,13,14');
});
