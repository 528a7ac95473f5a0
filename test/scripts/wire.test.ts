import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: 'be5e6dfd06d724ac35ef632aa163c3996a44e310',
  adopt: '3dc904ae88a25ff8cba5cece93cd480bf98762e1',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '60c421e9ef572735d616eec97ad86d95b0b05838',
  inspect: '3df9c1fc60fb7588b3368fc302092138c723d651',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '99d14a456dc5c3694684a60546c9d4f7576deeea',
  release: 'afd2e981d595455a2f09cacb305f7f094338e016',
  revoke: '50096884892c8babff05844f4e8c585d36d56af1',
  'set-limit': '78568f7a4c1146c13481034007eb461c9192fe7c',
  'set-rate': 'bfa7561fdd9253c6bf0dced1102ac6a2e2dffa7a',
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
