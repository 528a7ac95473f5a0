import { expect } from 'chai';

import type { ExtendCall, RateState } from '../../../../src/backends/backend.js';
import { acquire } from '../../../../src/backends/redis/acquire.js';
import { extend } from '../../../../src/backends/redis/extend.js';
import { inspect } from '../../../../src/backends/redis/inspect.js';
import { readReplies } from '../../../../src/backends/redis/operation.js';
import { hearPush } from '../../../../src/backends/redis/push-message.js';
import { release } from '../../../../src/backends/redis/release.js';
import {
  grantsOf,
  slotsOf,
  ticketOf,
  UnexpectedReplyError,
} from '../../../../src/backends/redis/wire-text.js';
import { errorOf } from '../../../support/rejection.js';
import { request } from '../../../scripts/port-fixture.js';

/** What may come back from something that is not our script; more is in test/random. */
const GARBAGE = [null, '', 'OK', 12n, [], Symbol('x'), '||||||||', 'now||b|', '1.5||b|'] as const;

const NOW = '1700000000000001';
const HOLDER = 'a.1 1700000005000001 0,2-3 1699999999000001';

const terms = { key: { prefix: 'p', name: 'n' }, limit: 3, client: 'c', ttl: 1, label: 'l' };
const acquireCall = { ...terms, notAfter: undefined, requests: [] };

/** What a script's reply says of a semaphore. */
function inspected(reply: unknown) {
  const run = () => Promise.resolve(reply);
  return inspect({ runBySha: run, runByText: run }, terms);
}

describe('replies', () => {
  it('that are garbage are refused, and shown, but not at full length', async () => {
    for (const reply of [...GARBAGE, 'x'.repeat(100_000)]) {
      expect(() => readReplies(reply, [acquireCall], acquire))
        .to.throw(UnexpectedReplyError, /^the script \w+ got an unexpected reply/)
        .with.property('message')
        .with.length.below(300);
      await errorOf(inspected(reply), UnexpectedReplyError);
    }
  });

  it('are read as texts where a client gives Buffers', async () => {
    const call = { ...acquireCall, requests: [request('a.1', 'wait')] };
    const [reply] = readReplies(Buffer.from(`${NOW}|b`), [call], acquire);
    expect(reply?.verdicts).to.deep.equal([{ kind: 'busy' }]);
    const { holders } = await inspected(Buffer.from(`${NOW}||||${HOLDER} naïve|`));
    expect(holders[0]?.label).to.equal('naïve');
  });

  it('with another number of verdicts than was asked for, or odd ones, are refused', () => {
    const requests = [request('a.1', 'wait'), request('a.2.3', 'wait')];
    const call = { ...acquireCall, requests };
    const read = (text: string) => readReplies(`${NOW}|${text}`, [call], acquire)[0];
    const oddVerdicts = ['x;b', '+;b', '1;b', 'q1.5;b', 'o0;b', 'o1;b', 'b;o3', 'n7', 'n1-2 3'];
    for (const verdicts of ['', 'b;b;b', ...oddVerdicts]) {
      expect(() => read(verdicts), verdicts).to.throw(UnexpectedReplyError);
    }
    expect(read('b;o2')?.verdicts[1]).to.deep.equal({ kind: 'over', limit: 2 });
    const ids: ExtendCall = { ...terms, ids: ['a.1', 'a.2'] };
    for (const digits of ['1', '101', '11/x//']) {
      const reply = `${NOW}|${digits}`;
      expect(() => readReplies(reply, [ids], extend)).to.throw(UnexpectedReplyError);
      expect(() => readReplies(reply, [ids], release)).to.throw(UnexpectedReplyError);
    }
    for (const slots of ['', 'x', '9-7', '1,,2', '0-999999999999', '1-']) {
      expect(slotsOf(slots), slots).to.equal(undefined);
      expect(ticketOf(`${slots} 7`), slots).to.equal(undefined);
    }
  });

  it('leave out replies that are no grant', () => {
    expect(grantsOf(`b.1 4 9 ${NOW}`)).to.have.length(1);
    for (const broken of ['b.1 4 9', `b.1 x 9 ${NOW}`, `b.1 4 9.5 ${NOW}`, 'b.1 4 9 soon']) {
      expect(grantsOf(broken), broken).to.deep.equal([]);
    }
  });

  it('name the rate that counts, and when it allows the next permit', async () => {
    const now = Number(NOW);
    const rateAt = async (text: string, time = now): Promise<RateState | undefined> =>
      (await inspected(`${time}|${NOW} 4${text}||||`)).rate;
    const [tat, granted] = ['1700000000600001', NOW];
    const rate = { permits: 100, per: 60_000, burst: 1 };
    expect([await rateAt(''), await rateAt(' rate:none')]).to.deep.equal([undefined, undefined]);
    const stored = { ...rate, from: 'setRate', nextIn: 0 };
    expect(await rateAt(' rate:100,60000000,1,,0,0')).to.deep.equal(stored);
    const waits = { ...rate, from: 'caller', nextIn: 600 };
    const named = ` rate:100,60000000,1,1700000060000001,${tat},${granted}`;
    expect(await rateAt(named)).to.deep.equal(waits);
    // The clock was set back by an hour: as long as at the last grant.
    expect(await rateAt(named, now - 3_600_000_000)).to.deep.equal(waits);
    expect(await rateAt(named, now + 60_000_000)).to.equal(undefined);
    for (const broken of [' rate:x', ' rate:100', ' rate:1,1,1,1,1', ' rate:1,1,1,,5']) {
      await errorOf(rateAt(broken), UnexpectedReplyError);
    }
  });

  it('of a push name grants, ends and turns of the client, and nothing else', () => {
    const heard: unknown[] = [];
    const listener = {
      onGrants: (grants: readonly { id: string }[]) => heard.push(...grants.map(({ id }) => id)),
      onEnded: (ended: readonly unknown[]) => heard.push(...ended),
      onTurn: (turn: unknown) => heard.push(turn),
      onHealth: () => {},
    };
    const lines = [
      `b.1 at ${NOW}`,
      'b.2 revoked',
      'b.3 adopted',
      `b.4 0 9 ${NOW}`,
      `c.5 at ${NOW}`,
    ];
    const broken = ['', 'b.1 at', 'b.1 at soon', 'b.1 at 5 6', 'b.1 by 5', 'b.1 revoked x'];
    hearPush(`${[...broken, ...lines].join(';')}|n`, 'b', listener);
    expect(heard).to.deep.equal([
      'b.4',
      { id: 'b.2', reason: 'revoked' },
      { id: 'b.3', reason: 'missing' },
      { id: 'b.1', at: Number(NOW) / 1000 },
    ]);
  });

  it('show labels as they are where another program wrote them', async () => {
    const waiter = 'b.1 1  1700000000000009 30000 50%%3B';
    const state = await inspected(`${NOW}|${NOW} 4|||${HOLDER} 50%%3B|${waiter}`);
    expect(state.holders[0]?.label).to.equal('50%%3B');
    expect(state.waiters[0]).to.include({ id: 'b.1', waitingFor: 0, label: '50%%3B' });
  });
});
