import { expect } from 'chai';

import * as quorumScripts from '../../src/backends/quorum/scripts.js';
import * as redisScripts from '../../src/backends/redis/scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '62664543d4ef8454eb0e3eaffe26135c8b5becc9',
  adopt: 'e2adccd28f2f355e167a4229c5103b58abdc143b',
  'check-server': '91aa6cff1634792d87b1ff7b1eea88e86ae6965c',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: 'e782562e0ffdd7f002e8c7ea7a49e7d4412b7771',
  inspect: '2929f825165ec40d8d98c3a2740e5a436fdaf9f9',
  'list-names': 'caec035c3e892d4e2b5c74e2fef22d694129e94f',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '8dc41ddf3ca5dea95a19f86ac90e6a1709215a3f',
  release: '261d55f319d51bf470e1641555894240a8b1f9fe',
  revoke: 'b9dc8455f5ecf36769373e90a2bc361d04a97cda',
  'set-limit': '11540bbf76c1b1dc438a23295daedc2edc99fe86',
  'set-rate': 'fac5a2be12d4fa9c47312ac6b5021fd640b08e90',
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
