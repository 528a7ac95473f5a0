import { expect } from 'chai';

import { parseRate, parseTurn } from '../../../../src/backends/redis/rate-text.js';
import { parseInspect } from '../../../../src/backends/redis/inspect-replies.js';
import type { ReplyPart } from '../../../../src/backends/redis/replies.js';
import {
  parseAcquire,
  parseExtend,
  parseGrants,
  parseRelease,
  parseSlots,
  partsOf,
  UnexpectedReplyError,
} from '../../../../src/backends/redis/replies.js';
import { request } from '../../../scripts/port-fixture.js';

/** What may come back from something that is not our script; more is in test/random. */
const GARBAGE = [null, '', 'OK', 12n, [], Symbol('x'), '||||||||', 'now||b|', '1.5||b|'] as const;

const NOW = '1700000000000001';

const part = (text: string): ReplyPart => ({ text, serverTime: 1 });

describe('replies', () => {
  it('that are garbage are refused, and shown, but not at full length', () => {
    for (const reply of [...GARBAGE, 'x'.repeat(100_000)]) {
      for (const parse of [() => partsOf('acquire', reply), () => parseInspect(reply)]) {
        expect(parse)
          .to.throw(UnexpectedReplyError, /^the script \w+ got an unexpected reply/)
          .with.property('message')
          .with.length.below(300);
      }
    }
  });

  it('with another number of verdicts than was asked for, or odd ones, are refused', () => {
    const requests = [request('a.1', 'wait'), request('a.2.3', 'wait')];
    const oddVerdicts = ['x;b', '+;b', '1;b', 'q1.5;b', 'o0;b', 'o1;b', 'b;o3', 'n7', 'n1-2 3'];
    for (const verdicts of ['', 'b;b;b', ...oddVerdicts]) {
      expect(() => parseAcquire(part(verdicts), requests), verdicts).to.throw(UnexpectedReplyError);
    }
    expect(parseAcquire(part('b;o2'), requests).verdicts[1]).to.deep.equal({
      kind: 'over',
      limit: 2,
    });
    for (const digits of ['1', '101', '11/x//']) {
      const ids = ['a.1', 'a.2'];
      expect(() => parseExtend(part(digits), ids)).to.throw(UnexpectedReplyError);
      expect(() => parseRelease(part(digits), ids)).to.throw(UnexpectedReplyError);
    }
    for (const slots of ['', 'x', '9-7', '1,,2', '0-999999999999', '1-']) {
      expect(() => parseSlots(slots), slots).to.throw(UnexpectedReplyError);
    }
  });

  it('leave out, part by part, what is no grant', () => {
    const whole = `b.1 4 9 ${NOW}`;
    for (const broken of ['b.1 4 9', `b.1 x 9 ${NOW}`, `b.1 4 9.5 ${NOW}`, 'b.1 4 9 soon']) {
      expect(parseGrants(`${broken};${whole}`), broken).to.have.length(1);
    }
  });

  it('name the rate that counts, and when it allows the next permit', () => {
    const now = Number(NOW) / 1000;
    const [tat, granted] = ['1700000000600001', NOW];
    const rate = { permits: 100, per: 60_000, burst: 1 };
    expect([parseRate('/', now), parseRate('none/', now)]).to.deep.equal([undefined, null]);
    const stored = { ...rate, from: 'setRate', nextIn: 0 };
    expect(parseRate(`100 60000000 1/`, now)).to.deep.equal(stored);
    const waits = { ...rate, from: 'caller', nextIn: 600 };
    const named = '100 60000000 1 1700000060000001';
    expect(parseRate(`${named}/${tat} ${granted}`, now)).to.deep.equal(waits);
    // The clock was set back by an hour: as long as at the last grant.
    expect(parseRate(`${named}/${tat} ${granted}`, now - 3_600_000)).to.deep.equal(waits);
    expect(parseRate(`${named}/${tat} ${granted}`, now + 60_000), 'long ago').to.equal(undefined);
    for (const broken of ['', 'x/', '100/', '100 1/', '1 1 1 1 1/', '1 1 1/5', 'none']) {
      expect(() => parseRate(broken, now), broken).to.throw(UnexpectedReplyError);
    }
  });

  it('of a push name a time, or nothing', () => {
    expect(parseTurn(`b.1 at ${NOW}`)).to.deep.equal([{ id: 'b.1', at: Number(NOW) / 1000 }]);
    for (const broken of ['', 'b.1 at', 'b.1 at soon', 'b.1 at 5 6', 'b.1 by 5']) {
      expect(parseTurn(broken), broken).to.deep.equal([]);
    }
  });

  it('show labels as they are where another program wrote them', () => {
    const holder = 'a.1 1700000005000001 0,2-3 1699999999000001 50%%3B';
    const page = parseInspect(`${NOW}|o4|||${holder}|b.1 1700000000000009 50%%3B|/`);
    expect(page.holders[0]?.label).to.equal('50%%3B');
    expect(page.waiters[0]).to.include({ id: 'b.1', waitingFor: 0, label: '50%%3B' });
  });
});
