import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: 'a384fced1843bd2446576d72383946ae3309f2f4',
  adopt: '340ebfb7e79188d41d3b95e3cc05d9ee3ab21830',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  'eviction-policy': 'ad6ae099561e3f53981b3cf1430986e529b9f3cd',
  extend: '8b424371ee36cb3176463783b2bc148c7d001804',
  inspect: 'ce46ea904f4488afa7a9f5875fc76b4a73ec1aaf',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  release: '61328040ce1878e34dabde67b35c4c803ff923ef',
  revoke: '68012dc39c32cd1349f8b63346eed923c9911583',
  'set-limit': '91becd3db0c95d1aa2e3afe8f0cb89d02bf1a6c3',
  'set-rate': '6ad3fbde340af49dfa29c2d94efba8cba5a9a10e',
  overview: 'a217746c02dc63d6df2227c2524f7fd54fd82d08',
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
