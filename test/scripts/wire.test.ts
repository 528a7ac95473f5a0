import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '61da3d15d856ce314b4d265589ff96464ce5fddb',
  adopt: '3f3091af07bdad95a4c97aba97c6533a1c389dcd',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  'eviction-policy': 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '6cdc9c47066dcbeee6566dfde229caddcdd75952',
  inspect: 'be615b2cacbf57fbf37f8756c20bd1a820ca6982',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '74713be4877a3f7196fd3d4db3c8ee29d5fbcaa2',
  release: '2d6fd90de91257cdce31dd1fae248e18c7cf3685',
  revoke: '1876802c9d6a6e46c46f78295adea6a4086b5fcd',
  'set-limit': '7bf74e1e861b254b9265d980206e18f07b34bf0b',
  'set-rate': '7d101da44e1c875d0db16233198d5794638cc4b9',
  'quorum-drop': '96b33beeed4c514f4464e02afbf22f4414687fe6',
  'quorum-hold': 'c7d77003fd4d4f8b11d687745f93f4b472ef1194',
  'quorum-list': 'a88b0f50ea1674bbadd9fe6ab6a64f5266a6bb4a',
};

describe('scripts on the wire', () => {
  it('are those of the last review', () => {
    const sent = redisScripts.map(({ name, sha1 }) => [name, sha1]);
    expect(Object.fromEntries(sent)).to.deep.equal(SHA1);
  });
});
