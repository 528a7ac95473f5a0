import { expect } from 'chai';

import type { RedisConnection } from '../../../../src/backends/redis/connection.js';
import { listNames } from '../../../../src/backends/redis/names.js';
import { UnexpectedReplyError } from '../../../../src/backends/redis/wire-text.js';
import { errorOf } from '../../../support/rejection.js';

/** Whose scripts get these replies, one after the other. */
function server(...replies: unknown[]) {
  const calls: (readonly string[])[] = [];
  const run: RedisConnection['runBySha'] = (_script, keys, args) => {
    calls.push([...keys, '|', ...args]);
    return Promise.resolve(replies[calls.length - 1]);
  };
  return { calls, connection: { runBySha: run, runByText: run } satisfies RedisConnection };
}

async function allOf(connection: RedisConnection): Promise<readonly string[]> {
  const names: string[] = [];
  let cursor = '';
  do {
    const page = await listNames(connection, 'p', cursor);
    names.push(...page.names);
    ({ cursor } = page);
  } while (cursor !== '');
  return names;
}

describe('names, page by page', () => {
  it('are asked for on each master of a cluster, by no key', async () => {
    // Tags that the keys of a semaphore cannot have are none.
    const [one, two] = [server('5}a}%7bx}x%', `0}%7Bb%7D}${'x'.repeat(513)}`), server('0}c')];
    const masters = [one.connection, two.connection];
    const eachMaster = () => Promise.resolve(masters);
    expect(await allOf({ ...server().connection, eachMaster })).to.deep.equal(['a', '{b}', 'c']);
    const asked = [...one.calls, ...two.calls];
    expect(asked.map(([bar, cursor, , start]) => `${bar} ${cursor} ${start}`)).to.deep.equal(
      ['0', '5', '0'].map((cursor) => `| ${cursor} p:`),
    );
  });

  it('are not read off the reply of something else, and a right that is missing is named', async () => {
    for (const reply of [undefined, ['0'], '', 'OK', '-1}a']) {
      await errorOf(listNames(server(reply).connection, 'p', ''), UnexpectedReplyError);
    }
    const said = "ERR The user executing the script can't run this command or subcommand";
    const runBySha = () => Promise.reject(new Error(said));
    const refused = { ...server().connection, runBySha };
    expect((await errorOf(listNames(refused, 'p', ''), Error)).message).to.match(/^NOPERM .*SCAN/);
  });
});
