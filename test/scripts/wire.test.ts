import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '4eed8d0ed4eb559ee4ad5f420da86fc61623741b',
  adopt: '398390339504345af4b4c9b764e0e6a3b221d904',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: 'e592df24ddbf6e5950b39100a8c3b7bf9053efdc',
  inspect: '1abffd85da565bcc6c7bfb15412a23daff51767a',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '22e5146d1f35006c8927b33275863838058314b4',
  release: '6b32e96c0661e90299e714ab7b15c43ae3fa2a89',
  revoke: 'd387e8648a6210f3401b7fac2face6054bee64ee',
  'set-limit': '299c55ae73a25b61a60f9ba36a2fdfd5ae9f0bc2',
  'set-rate': 'a7d989f0ad7534a9d9f5d1e994972cf6919a078b',
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
