import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: 'a7fdae6575100bde5a5854d060fb75e98187c28d',
  adopt: '3ff7c9e1a5194ad71b48e0bc8b189268e693f5de',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '69ae3a5fda20283785dfd69e66b6c65ff40f4d9f',
  inspect: '3df9c1fc60fb7588b3368fc302092138c723d651',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '99d14a456dc5c3694684a60546c9d4f7576deeea',
  release: '4eb011ae45cbabd769f341167165121ed45d99c8',
  revoke: '3846f566c709f9df86951fb82e7752d64aac7b55',
  'set-limit': '0115831c606e575fd5e8ca54ea1e6771250cb3b1',
  'set-rate': '2eb71b3d3ed9c4e1da6883a8065bd3d0ae57af33',
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
