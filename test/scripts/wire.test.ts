import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '25d8ebd453e3ddab2fe1e69fb674af7a2ddf0fbb',
  adopt: 'd755e0cba195e61c60043fbc314a0eb1e55b03bc',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  'eviction-policy': 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '8b57c306d8b6a7f2ef81a95a13e034a33ea1b22c',
  inspect: '7d04a943dd16be7c182afe37666f591a44d86488',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  release: '4e2231fdecc482bcfd381c5e6487ad0c1109fbea',
  revoke: '5c1894aba63cacd13e872781cd9ac66e54373468',
  'set-limit': 'cdffb730909a34f9b710f6a57019f00a6ea16132',
  'set-rate': '4b89b5e5d70c5db418d124557cffd8bd3d36c821',
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
