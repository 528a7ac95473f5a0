import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: 'ff1f5fee3558e16393d29d8d7262318a8dd65fea',
  adopt: '900e2da8a53e4b34a733e9c5ddb1e87a694c7578',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  'eviction-policy': 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '8960f8972a567e071ffd75fe36b3d40aec951165',
  inspect: '802a6f56a150a74c00a2c67852b1ae9b0c4b7eeb',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  release: '4ec7c963561a2cbc6fef135a5b628581dfdb2ed2',
  revoke: 'cc7afac3c005a76562805c52ea47f16ec41d29d1',
  'set-limit': '72a713decb55d81274067ea2fbd48522f067b734',
  'set-rate': '06cc54e727f79a990eb2569b9c7500e8d8fee2ed',
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
