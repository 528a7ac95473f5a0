import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '5f4b28e87abeefd2b1bf300449b335f29a64c25e',
  adopt: '3a749044a587c1c6f8c4f4e079f475e7eec52152',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  'eviction-policy': 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '7fb6b0ea47c1465eb58dde4b7ef78a404b7c3356',
  inspect: 'be615b2cacbf57fbf37f8756c20bd1a820ca6982',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '74713be4877a3f7196fd3d4db3c8ee29d5fbcaa2',
  release: '25b181ca49a6112644bed2f5c780cc0c7ff36e6a',
  revoke: 'fabe4a02304010e09837137b8df1dc3adfa95ba6',
  'set-limit': 'f3362797e20506bc97050c08f94c20ee6b9e32de',
  'set-rate': '51daa088085c09b372480dc94d72b63532b0b765',
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
