import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '5f9b71b172f9a1056e00c73c04e469205613421b',
  adopt: 'fb602fc3dd7b7120afa5b93eda6494397bd28e8e',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  'eviction-policy': 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: 'd5425f05cff6373a0e858688d843e730b8a79ae7',
  inspect: 'b26a8549ee308d6089ebceaa5fc81ba82775766d',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  release: 'ade857641a2396d6b0ce1c899aaeaccd66c113fe',
  revoke: '142d4b7b0cf66c6fe62f7bb6a9d4b7e80bd3c6eb',
  'set-limit': '6ebd32d1e5b3ccea22556da3f7ef889e27564d60',
  'set-rate': 'bb78bd43b8d24dc64989029601537d56e69bed83',
  overview: '7a5a768c3648df650a86f20d97a9c36654942d66',
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
