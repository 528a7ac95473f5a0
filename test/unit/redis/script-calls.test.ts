import { expect } from 'chai';

import { isReadOnlyError } from '../../../src/redis/retryable-error.js';
import { RedisBackend } from '../../../src/redis/redis-backend.js';
import { keysOf, quorumKeysOf } from '../../../src/redis/keys.js';
import {
  parseAcquire,
  parseAdopt,
  parseEnded,
  parseExtend,
  parseGrants,
  parseRevoke,
  parseSetLimit,
  parseSlots,
  UnexpectedReplyError,
} from '../../../src/redis/replies.js';
import { fitServer } from './fit-server.js';

const NOW = '1700000000000000';
const TIME = 1_700_000_000_000;

describe('replies in full', () => {
  it('tell whose limit counts', () => {
    const head = { serverTime: TIME, storedLimit: undefined, otherLimit: undefined };
    expect(parseAcquire(`${NOW}||b|`, 1)).to.deep.include(head);
    expect(parseAcquire(`${NOW} stored 7||b|`, 1)).to.deep.include({ ...head, storedLimit: 7 });
    expect(parseAcquire(`${NOW} other 7||b|`, 1)).to.deep.include({ ...head, otherLimit: 7 });
    expect(() => parseAcquire(`${NOW} mine 7||b|`, 1)).to.throw(UnexpectedReplyError);
  });

  it('of extend name the tickets that were revoked, and no others', () => {
    const ids = ['a.1', 'a.2', 'a.3'];
    const { extended, revoked } = parseExtend(`${NOW}|1r0|`, ids);
    expect(extended).to.deep.equal([true, false, false]);
    expect(revoked).to.deep.equal(['a.2']);
    expect(parseExtend(`${NOW}|100|`, ids).revoked).to.equal(undefined);
  });

  it('of adopt tell the ticket and its id until now, or that it is gone', () => {
    const { ticket } = parseAdopt(`${NOW}|0,2-3 41|a.1|`);
    expect(ticket).to.deep.equal({ fencingToken: 41, slots: [0, 2, 3], before: 'a.1' });
    expect(parseAdopt(`${NOW}|||`).ticket).to.equal(undefined);
    for (const garbage of ['x', '0 4.5', '41', 'a 41']) {
      const parse = (): unknown => parseAdopt(`${NOW}|${garbage}|a.1|`);
      expect(parse, garbage).to.throw(UnexpectedReplyError);
    }
  });

  it('of revoke and setLimit tell of grants that they made room for', () => {
    const grants = [{ id: 'b.1', slots: [4], fencingToken: 9, expiresAt: TIME }];
    expect(parseRevoke(`${NOW}|1|b.1 4 9 ${NOW}`)).to.deep.include({ revoked: true, grants });
    expect(parseRevoke(`${NOW}|0|`)).to.deep.include({ revoked: false, grants: [] });
    expect(parseSetLimit(`${NOW}||b.1 4 9 ${NOW}`)).to.deep.include({ grants });
  });

  it('leave out, part by part, what is no grant', () => {
    const whole = `b.1 4 9 ${NOW}`;
    expect(parseGrants(whole)).to.have.length(1);
    const broken = [
      'b.1',
      'b.1 4',
      'b.1 4 9',
      `b.1 x 9 ${NOW}`,
      `b.1 4 9.5 ${NOW}`,
      'b.1 4 9 soon',
    ];
    for (const line of broken) {
      expect(parseGrants(`${line};${whole}`), line).to.have.length(1);
    }
  });

  it('tell which tickets were taken, and how', () => {
    expect(parseEnded('a.1 revoked;a.2 adopted')).to.deep.equal([
      { id: 'a.1', reason: 'revoked' },
      { id: 'a.2', reason: 'missing' },
    ]);
    for (const garbage of ['', 'a.1', `a.1 0 9 ${NOW}`, 'a.1 revoked twice']) {
      expect(parseEnded(garbage), garbage).to.deep.equal([]);
    }
  });

  it('name slots in order and in bounds only', () => {
    expect(parseSlots('7')).to.deep.equal([7]);
    expect(parseSlots('0,3,7-9')).to.deep.equal([0, 3, 7, 8, 9]);
    for (const garbage of ['', 'x', '9-7', '1,,2', '0-999999999999', '1-']) {
      expect(() => parseSlots(garbage), garbage).to.throw(UnexpectedReplyError);
    }
  });
});

describe('arguments of acquire', () => {
  const call = { key: { prefix: 'p', name: 'n' }, limit: 2, client: 'c', ttl: 1000, label: 'l' };

  /** What the script is sent behind label, ttl and time limit. */
  async function sent(
    requests: { id: string; wait: boolean; permits: number; arrival?: number }[],
  ) {
    let all: readonly string[] = [];
    const run = (_script: string, _keys: readonly string[], args: readonly string[]) => {
      all = args;
      return Promise.resolve(`${NOW}||${requests.map(() => 'b').join(';')}|`);
    };
    const backend = new RedisBackend(fitServer(run));
    const whole = requests.map(({ arrival, ...rest }) => ({ ...rest, arrival }));
    await backend.acquire({ ...call, notAfter: undefined, requests: whole });
    return all.slice(5);
  }

  const fresh = (id: string, permits = 1) => ({ id, permits, wait: true });
  const tried = (id: string) => ({ id, permits: 1, wait: false });
  const known = (id: string, arrival: number) => ({ id, permits: 1, wait: true, arrival });

  it('name new requests alone, where all wait for one permit', async () => {
    expect(await sent([fresh('c.1'), fresh('c.2')])).to.deep.equal(['', 'c.1 c.2']);
  });

  it('have a letter for each new request, where one of them only tries', async () => {
    const args = await sent([fresh('c.1'), tried('c.2')]);
    expect(args).to.deep.equal(['0 0 wt', 'c.1 c.2']);
  });

  it('say that one asks for more than one permit', async () => {
    const args = await sent([fresh('c.1'), fresh('c.2.2', 2)]);
    expect(args).to.deep.equal(['0 1 ', 'c.1 c.2.2']);
  });

  it('begin with those that were queued before, and end with their arrival numbers', async () => {
    const args = await sent([tried('c.1'), known('c.2', 50), fresh('c.3'), known('c.4', 40)]);
    expect(args).to.deep.equal(['2 0 tw', 'c.2 c.4 c.1 c.3', '50 40']);
  });
});

describe('a read-only server', () => {
  it('is told from other trouble by its word alone', () => {
    const readOnly = "READONLY You can't write against a read only replica.";
    expect(isReadOnlyError(new Error(readOnly))).to.equal(true);
    expect(isReadOnlyError(new Error(`ERR Error running script: -${readOnly}`))).to.equal(true);
    expect(isReadOnlyError(new Error('LOADING Redis is loading'))).to.equal(false);
    expect(isReadOnlyError(new Error('ERR unknown READONLYX'))).to.equal(false);
    expect(isReadOnlyError(readOnly)).to.equal(false);
  });
});

describe('keys', () => {
  it('of a quorum are others than those of one server', () => {
    const key = { prefix: 'p', name: 'n' };
    expect(quorumKeysOf(key)).to.deep.equal(['p:{n}:qslots', 'p:{n}:qmeta']);
    for (const one of keysOf(key)) expect(quorumKeysOf(key)).to.not.include(one);
  });
});
