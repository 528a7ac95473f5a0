import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '55fccc8a0e1b3b419888c8d3e0f967be8da9bb2a',
  adopt: 'fcc6bedceb1619f7cd70a79b71d46e056f5439cd',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  'eviction-policy': 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: 'fa7f54629a0fc1738f4395252345fa6c2b2a47ac',
  inspect: '7d04a943dd16be7c182afe37666f591a44d86488',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  release: 'b5d17339f63615c1a5979951abc712d66a2be460',
  revoke: 'ae66efe77d95ab8ecd42bc6f9b0016820daff34a',
  'set-limit': 'b6996190359dcfb0d67a348b3a774f7d38243fb2',
  'set-rate': 'b56ffe0f8c614eadfb11720fc5b04c668534051f',
  overview: 'f7c4e737b6eb4eba36d020ae42bbaf054a66571b',
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
