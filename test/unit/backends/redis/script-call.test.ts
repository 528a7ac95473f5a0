import { expect } from 'chai';

import type { AcquireCall, AcquireReply, Call } from '../../../../src/backends/backend.js';
import {
  acquireOperation,
  extendOperation,
  releaseOperation,
} from '../../../../src/backends/redis/operations.js';
import type { ReplyPart } from '../../../../src/backends/redis/replies.js';
import { partsOf, UnexpectedReplyError } from '../../../../src/backends/redis/replies.js';
import type { Operation, ScriptCall } from '../../../../src/backends/redis/script-call.js';
import { readReplies, scriptCalls } from '../../../../src/backends/redis/script-call.js';

const NOW = '1700000000000001';

/** Of calls of one prefix. */
function scriptCall<C extends Call>(calls: C[], operation: Operation<C, unknown>): ScriptCall<C> {
  const [call, ...others] = scriptCalls(calls, operation);
  if (call === undefined || others.length > 0) throw new Error('expected one call');
  return call;
}

function repliesTo<C extends Call, R>(
  call: ScriptCall<C>,
  parts: ReplyPart[],
  operation: Operation<C, R>,
): R[] {
  const replies: R[] = [];
  readReplies(call, parts, operation, replies);
  return replies;
}

describe('script call', () => {
  const of = (name: string, limit: number) => ({ key: { prefix: 'p', name }, limit, client: 'c' });

  function acquire(name: string, limit: number, rest: Partial<AcquireCall> = {}): AcquireCall {
    const requests = [{ id: `c.${name}`, permits: 1, wait: true, arrival: undefined }];
    return { ...of(name, limit), ttl: 100, label: 'a b', notAfter: undefined, requests, ...rest };
  }

  it('names equal terms once, keys in the order of the runs, and gives each call its own reply', () => {
    const calls = [acquire('x', 1), acquire('y', 2), acquire('z', 1, { notAfter: 1 })];
    calls.push(acquire('w', 1), acquire('x', 2), acquire('y', 1));
    const call = scriptCall(calls, acquireOperation);
    const runs = [
      ['p:inbox:c', '1', '100000', 'a%20b', '', 'c.x', 'c.w'],
      ['', '2', '100000', 'a%20b', '', 'c.y', 'c.x'],
      ['', '1', '100000', 'a%20b', '0000000000001000', 'c.z'],
      // The second call of a semaphore stays behind its first.
      ['', '1', '100000', 'a%20b', '', 'c.y'],
    ];
    expect(call.args).to.deep.equal(runs.flat());
    expect(call.keys.filter((key) => key.endsWith('meta'))).to.deep.equal(
      ['x', 'w', 'y', 'x', 'z', 'y'].map((name) => `p:{${name}}:meta`),
    );
    const parts = partsOf('acquire', `${NOW}|0 11|0 12|0 13|0 14|b|0 15`);
    const verdicts = repliesTo(call, parts, acquireOperation).map((reply) => reply.verdicts[0]);
    expect(verdicts.map((one) => (one?.kind === 'granted' ? one.fencingToken : one?.kind))).to.eql([
      11,
      13,
      'busy',
      12,
      14,
      15,
    ]);
    for (const other of [parts.slice(1), [...parts, ...parts]]) {
      expect(() => repliesTo(call, other, acquireOperation)).to.throw(UnexpectedReplyError);
    }
  });

  it('has the ids of a semaphore in one argument', () => {
    const [one, two] = [['c.1'], ['c.1', 'c.2']];
    const extended = scriptCall(
      [
        { ...of('x', 1), ttl: 5, ids: two, fencingTokens: [7, 8] },
        { ...of('y', 1), ttl: 5, ids: one },
      ],
      extendOperation,
    );
    expect(extended.args.slice(1)).to.eql(['1', '5000', '["c.1","c.2"]|["7","8"]', '["c.1"]|[]']);
    const released = scriptCall(
      [
        { ...of('x', 1), ids: one },
        { ...of('y', 1), ids: [...two, ...one] },
      ],
      releaseOperation,
    );
    expect(released.args.slice(1)).to.deep.equal(['1', 'c.1', '["c.1","c.2"]']);
    const replies = repliesTo(released, partsOf('release', `${NOW}|0|11`), releaseOperation);
    expect(replies.map((reply) => reply.released)).to.deep.equal([[false], [true, true, false]]);
  });

  it('is one for each prefix, because it names one inbox', () => {
    const other = { ...acquire('y', 1), key: { prefix: 'q', name: 'y' } };
    const calls = scriptCalls([acquire('x', 1), other, acquire('z', 1)], acquireOperation, '*');
    expect(calls.map(({ args }) => args[0])).to.deep.equal(['*p:inbox:c', '*q:inbox:c']);
    expect(calls.map(({ args }) => args.slice(5))).to.deep.equal([['c.x', 'c.z'], ['c.y']]);
    const replies: AcquireReply[] = [];
    for (const [i, call] of calls.entries()) {
      const parts = partsOf('acquire', i === 0 ? `${NOW}|0 11|0 13` : `${NOW}|0 12`);
      readReplies(call, parts, acquireOperation, replies);
    }
    const tokens = replies.map(
      ({ verdicts: [one] }) => one?.kind === 'granted' && one.fencingToken,
    );
    expect(tokens).to.deep.equal([11, 12, 13]);
  });
});
