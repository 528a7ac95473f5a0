import { expect } from 'chai';

import * as quorumScripts from '../../src/backends/quorum/scripts.js';
import * as redisScripts from '../../src/backends/redis/scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: 'daf3227c9369287aab2efb2922b9b82920606962',
  adopt: '6231f334ab5877400348fb6ab389fba3ce77fc66',
  'check-server': '91aa6cff1634792d87b1ff7b1eea88e86ae6965c',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '1dfe9d4e77f629ff8259aa9038dd78d185b3437b',
  inspect: '2929f825165ec40d8d98c3a2740e5a436fdaf9f9',
  'list-names': 'caec035c3e892d4e2b5c74e2fef22d694129e94f',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '48626730b7184695d685b4d67976a5f0affe2a57',
  release: '87a8935a8d0e83c9aa5ea9818d7602b38039c5be',
  revoke: 'd5b2ccdd0a12dfcab4fb332ee03e4d07e447c239',
  'set-limit': 'bac13a3c10486800831c9f522810e356c5a4e530',
  'set-rate': 'c89b8546c539bf35ed9e71e6db08b57497dfa16f',
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
