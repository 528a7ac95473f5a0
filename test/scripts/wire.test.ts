import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '27f28341786625c25953ed827d8ecf6b2af8d12e',
  adopt: '5e0469150509054dffd57a10de0c92c9a87ef13f',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '3311e1ebf9cd679e8cd5c97edd543e7912bac2b8',
  inspect: '3df9c1fc60fb7588b3368fc302092138c723d651',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '99d14a456dc5c3694684a60546c9d4f7576deeea',
  release: 'f12fbd0e7cd16fac3f3a3d502131105abb43f282',
  revoke: 'd5a738adda381de63f08d64849cc34de4ab5eced',
  'set-limit': '9772a40536667aace899529308a72b9297da106b',
  'set-rate': '44bcec24c1dfaa57f5468868620f8b4a31458337',
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
