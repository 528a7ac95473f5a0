import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '435775716e63e784a7965874fdbb8835aa00f0bd',
  adopt: '5008fea9f416ac473d7d9d081747f11209d3a1f8',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '6ce8947c2a9ccdbb6394b13e226bca86c7e95ca4',
  inspect: 'be615b2cacbf57fbf37f8756c20bd1a820ca6982',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '74713be4877a3f7196fd3d4db3c8ee29d5fbcaa2',
  release: '7f57c86cda71685b2f56b077cee2825afd38231f',
  revoke: 'f433cb80a328a5cc48a6f434adac872a90f86feb',
  'set-limit': '31fd9754a87d3292587ea9ae5f96eb72d91790e5',
  'set-rate': 'bb8478229b79e1da7c8e4946d3dd378601d311ef',
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
