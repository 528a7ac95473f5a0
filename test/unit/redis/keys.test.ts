import { expect } from 'chai';

import { inboxChannels, keysOf } from '../../../src/redis/keys.js';

const PARTS = keysOf({ prefix: 'p', name: 'n' }).length;

/** What Redis Cluster hashes: between the first `{` and the next `}`, unless that is nothing. */
function hashTag(key: string): string {
  const open = key.indexOf('{');
  const close = key.indexOf('}', open + 1);
  return open < 0 || close <= open + 1 ? key : key.slice(open + 1, close);
}

/** Every text of up to four of these signs: all that could be confused with an escape or a key's own signs. */
function nastyNames(): string[] {
  const signs = ['{', '}', '%', '7', 'B', 'D', '25', ':', 'tickets', '\0', 'é'];
  let names = [''];
  const all: string[] = [];
  for (let length = 1; length <= 4; length++) {
    names = names.flatMap((name) => signs.map((sign) => name + sign));
    all.push(...names);
  }
  return [...new Set(all)];
}

describe('keys', () => {
  it('are the documented ones', () => {
    expect(keysOf({ prefix: 'redsem', name: 'jobs' })).to.include.members(
      ['tickets', 'queue', 'waiters', 'meta'].map((part) => `redsem:{jobs}:${part}`),
    );
    expect(inboxChannels('redsem')).to.equal('redsem:inbox:');
  });

  it('never collide, whatever braces, signs and parts of keys the names have', () => {
    const names = nastyNames();
    expect(names.length).to.be.above(10_000);
    const seen = new Set<string>();
    for (const name of names) for (const key of keysOf({ prefix: 'p', name })) seen.add(key);
    expect(seen.size).to.equal(names.length * PARTS);
  });

  it('never collide over prefixes', () => {
    const seen = new Set<string>();
    const prefixes = ['p', 'p:', ':p', 'p:inbox', 'P', 'p%7B', 'p:tickets', 'p:p'];
    const names = ['n', ':n', 'p', 'p:{n}', '{n}', '}:tickets', 'inbox:x', 'n}:tickets'];
    for (const prefix of prefixes) {
      for (const name of names) for (const key of keysOf({ prefix, name })) seen.add(key);
    }
    expect(seen.size).to.equal(prefixes.length * names.length * PARTS);
    for (const key of seen) {
      for (const prefix of prefixes)
        expect(key.startsWith(inboxChannels(prefix) + 'c')).to.equal(false);
    }
  });

  it('of one semaphore share one hash tag, which is its whole name', () => {
    const tags = new Map<string, string>();
    for (const name of nastyNames()) {
      const found = new Set(keysOf({ prefix: 'p', name }).map(hashTag));
      expect(found.size, name).to.equal(1);
      const [tag = ''] = found;
      expect(tags.get(tag), `${name} shares the tag of`).to.equal(undefined);
      tags.set(tag, name);
      expect(tag).not.to.match(/[{}]/);
    }
  });

  it('keep every other sign as it is', () => {
    const name = 'Ünï 🚦\0\n*?[]\\"\'';
    expect(keysOf({ prefix: 'p', name })[0]).to.equal(`p:{${name}}:tickets`);
  });
});
