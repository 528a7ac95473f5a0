import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '50e39fc7433ecb2af646b186eddf1d2dfec45d51',
  adopt: 'c19634e4daf2e77b31feb777f072524e776898d9',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '03c344f5e26c46ad51be24730aec20a0f70bf381',
  inspect: '3df9c1fc60fb7588b3368fc302092138c723d651',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '99d14a456dc5c3694684a60546c9d4f7576deeea',
  release: 'cf11e89a894eee02e2cfe4395106934b4969a7c3',
  revoke: '6d9d315075570a38d0c5869946287a7d3e6684e2',
  'set-limit': 'ad57cac6ba1710c3776930d413227b50a35ffb47',
  'set-rate': '594d524579f3bae1f7514ff912487e7c53e4130c',
  'quorum-drop': '96b33beeed4c514f4464e02afbf22f4414687fe6',
  'quorum-hold': 'de0db187a6a6e44694977dfb1ec473f17049cc22',
  'quorum-list': 'a88b0f50ea1674bbadd9fe6ab6a64f5266a6bb4a',
};

describe('scripts on the wire', () => {
  it('are those of the last review', () => {
    const sent = redisScripts.map(({ name, sha1 }) => [name, sha1]);
    expect(Object.fromEntries(sent)).to.deep.equal(SHA1);
  });
});
