import { expect } from 'chai';

import * as quorumScripts from '../../src/backends/quorum/scripts.js';
import * as redisScripts from '../../src/backends/redis/scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '90e82bdd6dd3747b7eee237af5e6c4cf120b89e7',
  adopt: '41e48ebfa825b4fca49739e66184e16461f332bb',
  'check-server': '91aa6cff1634792d87b1ff7b1eea88e86ae6965c',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '19f44dedc163473750213b954dd806d74a17591e',
  inspect: '2929f825165ec40d8d98c3a2740e5a436fdaf9f9',
  'list-names': 'caec035c3e892d4e2b5c74e2fef22d694129e94f',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '8dc41ddf3ca5dea95a19f86ac90e6a1709215a3f',
  release: 'd1e47c5f588326c3678196ba085fa1c1dc960dad',
  revoke: '0571a9023e180f82d1f16b8f6b5d3cb2226e757f',
  'set-limit': '5055d396efe601a53161a63708d347fd6a5181fa',
  'set-rate': '28ec26a7b8254fd009d6418943de35d2f89735d1',
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
