import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '83fd4ed8ab4265a6535569c221e0c2eb5a7c6c8a',
  adopt: 'd637b3a904cfa05c1c007c26cbc4323342a85ad5',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  'eviction-policy': 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '0d6e646f765b8522c29f8f593df45d54e087abf1',
  inspect: 'be615b2cacbf57fbf37f8756c20bd1a820ca6982',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '74713be4877a3f7196fd3d4db3c8ee29d5fbcaa2',
  release: '87bb08b64f8ba5ea9f7e3dfbaf968a704f958476',
  revoke: 'de6a4eb56bd3ad49a2d847e2e1ff9bcb57097238',
  'set-limit': '413208d72d7aec47332d5f2c33fb8b4908ea04b4',
  'set-rate': '39bf20d9dcdb4f51d28fa890ee1938a064e6909e',
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
