import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '1d553987dd4fbcbfa6c30cbe63881980e417af2b',
  adopt: 'e1fcc0dcc942965526c7805577b70ce9b4458090',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: 'e54d3595482385867c98ec9c5d3c4c47b8d07353',
  inspect: '3df9c1fc60fb7588b3368fc302092138c723d651',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '99d14a456dc5c3694684a60546c9d4f7576deeea',
  release: '1234454cc9a1c606237b5b52c969930554de003a',
  revoke: '4f763fe239cb38c5bc02277ee72645c9cde21588',
  'set-limit': 'e02502924e9c4b86d77cc54b277cceba3a6af788',
  'set-rate': 'ab55c96c97d9991a90c93a3c947e927252f46243',
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
