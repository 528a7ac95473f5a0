import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '21ece45b59f767ebdcba2c87589287948caabd3c',
  adopt: '3875c26ff24982e8aa5e422db9f493a91cb352eb',
  'check-server': '91aa6cff1634792d87b1ff7b1eea88e86ae6965c',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '9ce3266dbdee98fa979506cf70c056e956d73f65',
  inspect: 'b084d0053ea5518279b65d2fe9f1f5e1bf0d2455',
  'list-names': 'caec035c3e892d4e2b5c74e2fef22d694129e94f',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '8a5aad39093ec82cc2e600c9307a58a0af190e15',
  release: '5758b487e871e3f3619f65380d9c2b3781c47fd9',
  revoke: '4ee10e7eb07ff32d53945a2b5fbf928551090418',
  'set-limit': 'c5f0eeeaa73e13fe7cb8f21141d429e4d4d9c367',
  'set-rate': 'd9597e59acada0cadf75f1c8f2fe04e8989e06d0',
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
