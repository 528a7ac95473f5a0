import { expect } from 'chai';
import { parseDuration, showDuration } from '../../src/cli/duration.js';
import { describe as describeError, UsageError, usageOf } from '../../src/cli/failure.js';
import { printable } from '../../src/cli/output.js';
import { headline, overviewLines, sightLines } from '../../src/cli/sight-table.js';
import { parseServerUrl, showAddress } from '../../src/cli/server-url.js';
import { metaKey, metaPattern, nameInMetaKey } from '../../src/cli/stored-names.js';
import { table } from '../../src/cli/table.js';
import { fit, widthOf } from '../../src/cli/text-width.js';
import { keysOf } from '../../src/redis/keys.js';
import { sightOf } from './sights.js';

describe('texts of the command line', () => {
  it('read durations with a unit and nothing else', () => {
    const times = ['500ms', '30s', '1.5m', '2h', '1d', '0', '0s'].map((text) =>
      parseDuration('--t', text),
    );
    expect(times).to.deep.equal([500, 30_000, 90_000, 7_200_000, 86_400_000, 0, 0]);
    for (const text of ['30', '', 's', '-1s', '1e3s', '1 s', '1s2', '1S', 'Infinitys']) {
      expect(() => parseDuration('--t', text), text).to.throw(UsageError, '--t: expected');
    }
  });

  it('show durations in two units at most', () => {
    const shown = [-5, 0, 999.4, 1000, 59_999, 60_000, 3_725_000, 90_000_000].map(showDuration);
    expect(shown).to.deep.equal(['0ms', '0ms', '999ms', '1s', '59s', '1m 0s', '1h 2m', '1d 1h']);
  });

  it('read every part of a URL', () => {
    const parts = parseServerUrl('--url', 'rediss://us%40er:p%2Fw@[::1]:7000/5');
    expect(parts).to.deep.equal({
      host: '::1',
      port: 7000,
      path: undefined,
      username: 'us@er',
      password: 'p/w',
      database: 5,
      tls: true,
    });
    expect(showAddress(parts)).to.equal('[::1]:7000');
    expect(parseServerUrl('--url', 'redis://')).to.include({ host: '127.0.0.1', port: 6379 });
    expect(parseServerUrl('--url', 'unix:///run/r.sock?db=2')).to.include({
      path: '/run/r.sock',
      database: 2,
    });
    for (const host of ['', 'localhost']) {
      const url = `unix://us%40er:p%2Fw@${host}/run/r@x.sock?db=2`;
      const login = { username: 'us@er', password: 'p/w' };
      const expected = { path: '/run/r@x.sock', database: 2, ...login };
      expect(parseServerUrl('--url', url)).to.include(expected);
    }
    expect(parseServerUrl('--url', 'redis://h?db=3')).to.include({ database: 3 });
  });

  it('refuse a URL without showing its password', () => {
    const wrong = [
      '',
      'host:6379',
      'http://:secret@h',
      'redis://:secret@h/x',
      'redis://:%secret@h',
    ];
    for (const url of wrong) {
      expect(() => parseServerUrl('REDIS_URL', url), url)
        .to.throw(UsageError)
        .with.property('message')
        .that.matches(/^REDIS_URL: /)
        .and.does.not.contain('secret');
    }
  });

  it('find the key of a name as the library does, and the name in it', () => {
    const names = ['a', 'a{b}', '%7B', '{', '%', 'a:meta', '漢字', '%257D}{', ' '];
    for (const name of names) {
      const key = metaKey('app', name);
      expect(keysOf({ prefix: 'app', name })).to.include(key);
      expect(nameInMetaKey('app', key)).to.equal(name);
    }
    for (const key of [
      'app:{%41}:tickets',
      'app:{%}:meta',
      'ap:{a}:meta',
      'app:{}',
      'app:{a}b}:meta',
      // No names of the library's.
      'app:{}:meta',
      `app:{${'é'.repeat(256)}x}:meta`,
    ]) {
      expect(nameInMetaKey('app', key), key).to.equal(undefined);
    }
    expect(metaPattern('a*[b]?\\')).to.equal('a\\*\\[b\\]\\?\\\\:{*}:meta');
  });

  it('show control characters as escapes', () => {
    expect(printable('a\u001b[2J\n\u0085\u202e漢 🚀')).to.equal(
      'a\\u001b[2J\\u000a\\u0085\\u202e漢 🚀',
    );
    // What cannot be seen, but for the joiner of emoji.
    expect(printable('\u200b\ufeff\u061c\u{e0041}👩‍👧\u2028')).to.equal(
      '\\u200b\\ufeff\\u061c\\udb40\\udc41👩‍👧\\u2028',
    );
  });

  it('count the columns of a terminal', () => {
    expect(['abc', '漢字', '🚀', 'é', 'e\u0301', '👩‍👩‍👧'].map(widthOf)).to.deep.equal([
      3, 4, 2, 1, 1, 2,
    ]);
    expect([fit('abcdef', 6), fit('abcdefg', 6), fit('漢字漢字', 6), fit('x', 0)]).to.deep.equal([
      'abcdef',
      'abcde…',
      '漢字…',
      '',
    ]);
  });

  it('stand in columns', () => {
    const rows = [
      ['漢', '1'],
      ['abc', '22'],
    ];
    expect(table(['N', 'COUNT'], rows)).to.deep.equal(['N    COUNT', '漢   1', 'abc  22']);
  });

  it('leave cells empty that a row does not have', () => {
    expect(table(['A', 'B'], [['1']])).to.deep.equal(['A  B', '1']);
  });

  it('tell the limit of a semaphore, or that it is not known', () => {
    const sights = [sightOf('one', 1, 1), sightOf('many', 12, 3, 2), sightOf('unknown', null, 0)];
    expect(sights.map(headline)).to.deep.equal([
      'one: 1 of 1 permit held, 0 waiting',
      'many: 3 of 12 permits held, 2 waiting',
      'unknown: 0 permits held (limit unknown), 0 waiting',
    ]);
    expect(overviewLines(sights)).to.deep.equal([
      'NAME     LIMIT  HELD  WAITING',
      'one      1      1     0',
      'many     12     3     2',
      'unknown  ?      0     0',
    ]);
  });

  it('have no table of holders or waiters where there are none', () => {
    expect(sightLines(sightOf('idle', 2, 0))).to.deep.equal([
      'idle: 0 of 2 permits held, 0 waiting',
    ]);
    const heads = sightLines(sightOf('busy', 1, 1, 1)).filter((line) => /^[A-Z]/.test(line));
    expect(heads.map((line) => line.split(' ')[0])).to.deep.equal(['SLOT', 'PLACE']);
  });

  it('tell of any error something that can be read', () => {
    const refused = [
      new Error('connect ECONNREFUSED ::1:6379'),
      new Error('connect ECONNREFUSED 127.0.0.1:6379'),
    ];
    expect(describeError(new AggregateError(refused))).to.equal(
      'connect ECONNREFUSED ::1:6379; connect ECONNREFUSED 127.0.0.1:6379',
    );
    expect(describeError(new RangeError())).to.equal('RangeError');
    expect(describeError('text')).to.equal('text');
    const openssl = { library: 'SSL routines', reason: 'tlsv13 alert certificate required' };
    const tls = Object.assign(new Error('80EC:error:0A00045C:SSL routines:…\n'), openssl);
    expect(describeError(tls)).to.equal('TLS: tlsv13 alert certificate required');
  });

  it('blame the command line for what the library refuses, and for nothing else', () => {
    const failing = (error: Error) => () =>
      usageOf(() => {
        throw error;
      });
    expect(failing(new RangeError('limit: expected more'))).to.throw(
      UsageError,
      'limit: expected more',
    );
    const other = new Error('something else');
    expect(failing(other)).to.throw(Error).that.equals(other);
  });
});
