import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: 'fb224ea48de7b6b5d5eae3b8a789807c759c214a',
  adopt: 'da2bb169692cb58207f9cfb29289461d20f834c0',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: 'f3cc80c1d3522f64ec687abb5c517f6793cf39d1',
  inspect: 'be615b2cacbf57fbf37f8756c20bd1a820ca6982',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '74713be4877a3f7196fd3d4db3c8ee29d5fbcaa2',
  release: '97720752c742f7e501869f4c7ed35013092f70b3',
  revoke: 'ffa2028c59787de7b83712842a5d77e2bd80c575',
  'set-limit': '013c9549ad367a7a4cb8108a5cab3f775f324dfc',
  'set-rate': 'e9d1b0f572f0c67ae4522456c50616b3a93f5c5e',
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
