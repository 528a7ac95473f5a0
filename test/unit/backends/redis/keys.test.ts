import { expect } from 'chai';

import { inboxChannels, keysOf, quorumKeysOf } from '../../../../src/backends/redis/keys.js';

/** What Redis Cluster hashes: between the first `{` and the next `}`, unless that is nothing. */
function hashTag(key: string): string {
  const open = key.indexOf('{');
  const close = key.indexOf('}', open + 1);
  return open < 0 || close <= open + 1 ? key : key.slice(open + 1, close);
}

/** All that could be confused with an escape or a key's own signs. */
const SIGNS = ['{', '}', '%', '7', 'B', 'D', '25', ':', 'tickets', '\0', 'é'];

/** Every text of one to that many of these signs. */
function nastyNames(most: number): string[] {
  const shorter = most > 1 ? nastyNames(most - 1) : [];
  return [...new Set([...shorter, ...['', ...shorter].flatMap((a) => SIGNS.map((b) => a + b))])];
}

describe('keys', () => {
  const parts = keysOf({ prefix: 'p', name: 'n' }).length;

  it('of a semaphore share a hash tag, and never collide with keys of another name', () => {
    const names = nastyNames(3);
    expect(names.length).to.be.above(1000);
    const tags = new Set<string>();
    for (const name of names) {
      const keys = new Set(keysOf({ prefix: 'p', name }));
      const [tag = '', ...others] = new Set([...keys].map(hashTag));
      expect([keys.size, others], name).to.deep.equal([parts, []]);
      expect(tag).not.to.match(/[{}]/);
      tags.add(tag);
    }
    expect(tags.size).to.equal(names.length);
  });

  it('never collide over prefixes, nor with channels, nor with those of a quorum', () => {
    const seen = new Set<string>();
    const prefixes = ['p', 'p:', ':p', 'p:inbox', 'P', 'p%7B', 'p:tickets', 'p:p'];
    const names = ['n', ':n', 'p', 'p:{n}', '{n}', '}:tickets', 'inbox:x', 'n}:tickets'];
    const [own, quorum] = [keysOf, quorumKeysOf].map((keys) =>
      prefixes.flatMap((prefix) => names.flatMap((name) => keys({ prefix, name }))),
    );
    for (const key of [...(own ?? []), ...(quorum ?? [])]) {
      expect(seen.has(key), key).to.equal(false);
      seen.add(key);
      for (const prefix of prefixes)
        expect(key.startsWith(`${inboxChannels(prefix)}c`)).to.equal(false);
    }
    expect(own?.length).to.equal(prefixes.length * names.length * parts);
  });
});
