import { expect } from 'chai';

import {
  parseAcquire,
  parseExtend,
  parseGrants,
  parseInspect,
  parseRelease,
  parseSlots,
  UnexpectedReplyError,
} from '../../../src/redis/replies.js';

/** What may come back from something that is not our script. */
const GARBAGE: readonly unknown[] = [
  null,
  undefined,
  '',
  'OK',
  'PONG',
  0,
  1,
  12n,
  true,
  [],
  ['1700000000000000', '', 'q1', ''],
  {},
  Buffer.from('1700000000000000||b|'),
  '|',
  '||||||||',
  'now||b|',
  '-1||b|',
  '1.5||b|',
  ' 1700000000000000||b|',
  'ERR something',
  Symbol('x'),
];

const ids = (count: number): string[] => Array.from({ length: count }, (_, i) => `a.${i}`);

describe('replies', () => {
  const now = '1700000000000001';

  it('that are garbage are refused, and shown', () => {
    for (const reply of GARBAGE) {
      const shown = typeof reply === 'string' ? JSON.stringify(reply) : String(reply);
      for (const parse of [
        () => parseAcquire(reply, 1),
        () => parseExtend(reply, ids(1)),
        () => parseRelease(reply, ids(1)),
        () => parseInspect(reply),
      ]) {
        expect(parse, shown).to.throw(
          UnexpectedReplyError,
          /^the script \w+ got an unexpected reply/,
        );
      }
    }
  });

  it('that are garbage are not shown at full length', () => {
    expect(() => parseExtend('x'.repeat(100_000), ids(1)))
      .to.throw(UnexpectedReplyError)
      .with.property('message')
      .with.length.below(300);
  });

  it('of acquire with another number of verdicts are refused', () => {
    expect(() => parseAcquire(`${now}||b|`, 2)).to.throw(UnexpectedReplyError);
    expect(() => parseAcquire(`${now}||b;b|`, 1)).to.throw(UnexpectedReplyError);
    expect(() => parseAcquire(`${now}|||`, 1)).to.throw(UnexpectedReplyError);
  });

  it('of acquire count on from the first where each got one permit', () => {
    expect(parseAcquire(`${now}||n7 1700000000999999|`, 3).verdicts).to.deep.equal([
      { kind: 'granted', slots: [7], fencingToken: 1_700_000_000_999_999 },
      { kind: 'granted', slots: [8], fencingToken: 1_700_000_001_000_000 },
      { kind: 'granted', slots: [9], fencingToken: 1_700_000_001_000_001 },
    ]);
  });

  it('of acquire with an unknown verdict are refused', () => {
    const unknown = [
      'x',
      '+',
      '-',
      'granted',
      '+x',
      '1',
      'bb b',
      'n',
      'n7',
      'nx 1',
      'n1-2 3',
      'n1 x',
    ];
    for (const verdict of unknown) {
      expect(() => parseAcquire(`${now}||${verdict}|`, 1), verdict).to.throw(
        UnexpectedReplyError,
        /^the script (?:acquire|slots) got/,
      );
    }
  });

  it('of extend and release with another number of digits are refused', () => {
    for (const parse of [parseExtend, parseRelease]) {
      expect(() => parse(`${now}|1|`, ids(2))).to.throw(UnexpectedReplyError);
      expect(() => parse(`${now}|11|`, ids(1))).to.throw(UnexpectedReplyError);
    }
  });

  it('tell server times in milliseconds, with all their digits', () => {
    expect(parseExtend(`${now}|1|`, ids(1)).serverTime).to.equal(1_700_000_000_000.001);
    const reply = parseAcquire(`${now}|1700000000500007|q1700000000000003|`, 1);
    expect(reply.nearestExpiry).to.equal(1_700_000_000_500.007);
    expect(reply.verdicts).to.deep.equal([{ kind: 'queued', arrival: 1_700_000_000_000_003 }]);
    expect(parseAcquire(`${now}||b|`, 1).nearestExpiry).to.equal(undefined);
  });

  it('of extend and release tell one verdict for each id', () => {
    expect(parseExtend(`${now}|101|`, ids(3))).to.deep.include({
      extended: [true, false, true],
      grants: [],
    });
    expect(parseRelease(`${now}|01|`, ids(2))).to.deep.include({
      released: [false, true],
      grants: [],
    });
  });

  it('of acquire tell busy, late and the limit that is too small', () => {
    expect(parseAcquire(`${now}||b;l;o9|`, 3).verdicts).to.deep.equal([
      { kind: 'busy' },
      { kind: 'late' },
      { kind: 'over', limit: 9 },
    ]);
    for (const odd of ['o', 'o0', 'o-1', 'o1.5', 'ox']) {
      expect(() => parseAcquire(`${now}||${odd}|`, 1), odd).to.throw(/unexpected reply/);
    }
  });

  it('read slots alone and in ranges', () => {
    expect(parseSlots('0')).to.deep.equal([0]);
    expect(parseSlots('0,3,7-9')).to.deep.equal([0, 3, 7, 8, 9]);
    expect(parseSlots('5-5')).to.deep.equal([5]);
    expect(parseSlots('9999998-10000001,10000003')).to.deep.equal([
      9_999_998, 9_999_999, 10_000_000, 10_000_001, 10_000_003,
    ]);
    expect(parseSlots('0-99999')).to.have.length(100_000);
  });

  it('leave out what is no grant in a pushed message', () => {
    for (const message of ['', 'x', ';', 'a.1', 'a.1 2', 'hello world']) {
      expect(parseGrants(message), message).to.deep.equal([]);
    }
  });

  it('show holders and waiters with the labels that users gave', () => {
    const holder = 'a.1 1700000005000001 0,2-3 1700000000000000 1699999999000001 h%20%3B%7C';
    const page = parseInspect(`${now}|4|17|1699999990000001|${holder}|b.1.2 1699999990000001 `);
    expect(page).to.deep.equal({
      limit: 4,
      cursor: '17',
      arrival: '1699999990000001',
      holders: [
        {
          id: 'a.1',
          slots: [0, 2, 3],
          fencingToken: 1_700_000_000_000_000,
          expiresIn: 5000,
          heldFor: 1000,
          label: 'h ;|',
        },
      ],
      waiters: [{ id: 'b.1.2', permits: 2, waitingFor: 10_000, label: '' }],
    });
    // As another program may have written it.
    const odd = parseInspect(
      `${now}|4|||${holder.replace('h%20', '50%')}|b.1 1699999990000001 %zz`,
    );
    expect(odd.holders[0]?.label).to.equal('50%%3B%7C');
    expect(odd.waiters[0]?.label).to.equal('%zz');
    expect(parseInspect(`${now}|4||||`)).to.deep.equal({
      limit: 4,
      cursor: '',
      arrival: '',
      holders: [],
      waiters: [],
    });
  });

  it('never tell a negative time of waiting', () => {
    expect(parseInspect(`${now}|4||||b.1 1700000000000009 x`).waiters[0]?.waitingFor).to.equal(0);
  });
});
