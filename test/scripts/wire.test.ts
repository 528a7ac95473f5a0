import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '113144950cb4bf9be7eb6fee20cc9228fc448d11',
  adopt: '6a0722d1da590b5cb528adc022e80cbdb2acd44d',
  'check-server': '91aa6cff1634792d87b1ff7b1eea88e86ae6965c',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '1a1ae831256d936ad77404d138b23091830e0c60',
  inspect: 'd818ae5609e9c7940f8f1341e6f777d39d9cf86f',
  'list-names': 'caec035c3e892d4e2b5c74e2fef22d694129e94f',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '48626730b7184695d685b4d67976a5f0affe2a57',
  release: 'ffe30b1dfa2e49f80b02c714bfd9cff62f5e5d60',
  revoke: 'fac8f3662093710556797743be86754d5a5e8105',
  'set-limit': '944c61c17efdfe8ddf5e2ba9dd24ea4bf76de4df',
  'set-rate': '33c965400e6dc4cffa58c9b24b862b1d2c4c3660',
  'quorum-drop': '3f7770e21dcad2202a1613cfefb22a52ca74e93f',
  'quorum-hold': '1ceb5a90a4ed154ff3d75c4d41003079e2a194f5',
  'quorum-list': 'd0a95d83fa2e5aeb4a8c953df4facb5056bb82f5',
};

describe('scripts on the wire', () => {
  it('are those of the last review', () => {
    const sent = redisScripts.map(({ name, sha1 }) => [name, sha1]);
    expect(Object.fromEntries(sent)).to.deep.equal(SHA1);
  });
});
