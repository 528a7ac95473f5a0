import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '3c9897bf3c779764afc2c976dbe16a5da3f29b0e',
  adopt: '2913a07380582d3b8cc1a1cd585a55dad023f3ce',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: 'd3d36ba6c60b160c7c8ccae4f7970b6bb8513666',
  inspect: '1abffd85da565bcc6c7bfb15412a23daff51767a',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '22e5146d1f35006c8927b33275863838058314b4',
  release: '5c0d939ee8df54d638c63413324c3b172ffe13a1',
  revoke: '99afc15c5a9be3f5d06be2c1c001692b6033ae54',
  'set-limit': 'd153b81859d7a591c80e8b2a05b2e92db09f2f49',
  'set-rate': '45a63f5118f59f0e359dba126e5977c375e9d9c7',
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
