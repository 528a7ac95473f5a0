import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '30542a8c9614403cbfe4251f1d34511e1215f8b2',
  adopt: 'd6ab3859c289499d13deb378755448cbb4f109e2',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  'eviction-policy': 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '81d5785196308fbc28077b61a1d9c5fe726f521c',
  inspect: '7d04a943dd16be7c182afe37666f591a44d86488',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  release: '35dd13b437417c1a50bcb3d3f0c55e6d79f78dfc',
  revoke: 'dadf9b5680d5cccdceb9342e7212e1e1d43cd200',
  'set-limit': '7184302d627bcb3c831e9d7f7e9f8b3e4c1ae89d',
  'set-rate': '81a3d21340a9a2bf1e0a943b4a06254db2eb4a8a',
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
