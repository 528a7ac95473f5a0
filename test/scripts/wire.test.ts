import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: 'f66730e030c27003c9a1c05e1d512faae24e45f9',
  adopt: '56779c40b75379febac51dfe1409b96431f74c39',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  'eviction-policy': 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: 'adc71d05901372dfdde97e3535dc408a2ce573ad',
  inspect: '802a6f56a150a74c00a2c67852b1ae9b0c4b7eeb',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  release: '63fd1966e32460a6b2f222c889a3a98814ec6ce2',
  revoke: 'd7a58895ac5b116a0e9c28459654fd45c3776e1f',
  'set-limit': 'a2225655ca4907d8b744fbacd71097c4640e38a7',
  'set-rate': 'ac50248ff5739a825669a6c22339b53bcce401f0',
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
