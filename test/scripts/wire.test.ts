import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: 'c19c6d2d3564ce249c270ff4fa0a749c0dd01650',
  adopt: '053faf9c8d8ed489b6ae5160d73e415ec52b8917',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '618969fc56d72bec569c74db47f4cdd22049caa4',
  inspect: '1abffd85da565bcc6c7bfb15412a23daff51767a',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '22e5146d1f35006c8927b33275863838058314b4',
  release: '6a5633c779ff55d3eb5f875b2b4971e6cd1c8697',
  revoke: '8d767e237a68f44dbb0a7e95b1fcf2bb95ea929e',
  'set-limit': '657aa71dfebe713ed8c7aa451f38b62ed0617933',
  'set-rate': '96a7b8711dbae97c1ded28d4a83b5b2fb2d217b8',
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
