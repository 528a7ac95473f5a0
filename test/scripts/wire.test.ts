import { expect } from 'chai';

import * as quorumScripts from '../../src/backends/quorum/scripts.js';
import * as redisScripts from '../../src/backends/redis/scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: 'fcb098837e5122a5f877eac122c38017ad1e75ab',
  adopt: '23d3a288ce6198bd8ad439b2b79b94902310ca94',
  'check-server': '91aa6cff1634792d87b1ff7b1eea88e86ae6965c',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '24b573d9adb4f96432679e962f681703b8c37c62',
  inspect: '2929f825165ec40d8d98c3a2740e5a436fdaf9f9',
  'list-names': 'caec035c3e892d4e2b5c74e2fef22d694129e94f',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '48626730b7184695d685b4d67976a5f0affe2a57',
  release: 'db90b0fe5899f07efd8c2625006ecdfe224f55dd',
  revoke: '19991296a0ed3b1993515595db72f69526407a83',
  'set-limit': '3c2e46e6c771089e70ae1c0fa2b2af1661b6fe40',
  'set-rate': 'ee2d3ad019fb25500e96e6dee91bc8f356b74f50',
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
