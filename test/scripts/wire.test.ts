import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '69d2a557e3c93d10e1fa87e3a3b042db3167ba69',
  adopt: 'ebf58fbeeebd92ae8784dc660cdbe90d002357ad',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '09a311818de8e5e8b5befd9af1846d5d555e0d1f',
  inspect: '1abffd85da565bcc6c7bfb15412a23daff51767a',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '22e5146d1f35006c8927b33275863838058314b4',
  release: 'd3160e09e3f48d53857b1e06d3e84c538c78de1d',
  revoke: '45592c4934b5aca2ebb02518d9337a88daeb93a7',
  'set-limit': 'd389812c2667228934fb730e409bd1072e67eaf9',
  'set-rate': '9384b8d35259cec27e247d359f348c43ba4ee507',
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
