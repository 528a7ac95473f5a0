import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '403e29c4489e6dd4baf5fe583e2d79e34338d0b0',
  adopt: '76ba93cb4245b5454c68445019300494f8bad039',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  'eviction-policy': 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: 'ea6856baf16f2bd153eeb5bfe4cf3c6eff3288dd',
  inspect: 'be615b2cacbf57fbf37f8756c20bd1a820ca6982',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: 'ae7dac8112647a1d2847686f9630f997eb249939',
  release: '6033c46a6f44ab7501cb5d3dd424ee99754a16d9',
  revoke: 'ad081e853d322f363b5e1b6aa5ab6e8f3133695e',
  'set-limit': 'a950d814b022531bbb0f0aa856e7ec18a7ca387f',
  'set-rate': '21f9255b9ac12eb7d7a00a4777f5304ede161e5f',
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
