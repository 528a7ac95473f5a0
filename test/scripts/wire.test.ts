import { expect } from 'chai';

import * as quorumScripts from '../../src/backends/quorum/scripts.js';
import * as redisScripts from '../../src/backends/redis/scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '80e8a1ef283a165523290490965b44bf45dda756',
  adopt: '5795854a99d65c4b014ac296d6531e50c0f1ef37',
  'check-server': '91aa6cff1634792d87b1ff7b1eea88e86ae6965c',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: 'ee6082df180e87e690c6e283f934fbe35380c41d',
  inspect: 'd818ae5609e9c7940f8f1341e6f777d39d9cf86f',
  'list-names': 'caec035c3e892d4e2b5c74e2fef22d694129e94f',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '8dc41ddf3ca5dea95a19f86ac90e6a1709215a3f',
  release: 'a122f9c395276b8cb4aedfe097ac6eae09ff506e',
  revoke: '801b4bb95a90fa18ea1e0a58de79820fe31e2c62',
  'set-limit': 'aaa8e1dcad7afdcfdec7ea0a9a7386c07c99f7c7',
  'set-rate': 'aa57f2b148302959d10c6383ba2d6c7b26f3462a',
  'quorum-drop': '3f7770e21dcad2202a1613cfefb22a52ca74e93f',
  'quorum-hold': 'e7fc25eb159f75beab7899ba2be6e5b56f0094b0',
  'quorum-list': 'd0a95d83fa2e5aeb4a8c953df4facb5056bb82f5',
};

describe('scripts on the wire', () => {
  it('are those of the last review', () => {
    const sent = [...Object.values(redisScripts), ...Object.values(quorumScripts)].map(
      ({ name, sha1 }) => [name, sha1],
    );
    expect(Object.fromEntries(sent)).to.deep.equal(SHA1);
  });
});
