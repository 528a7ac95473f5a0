import { expect } from 'chai';

import * as quorumScripts from '../../src/backends/quorum/scripts.js';
import * as redisScripts from '../../src/backends/redis/scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '7bb80dcc03a89a745743a195cd714ff01cb587c7',
  adopt: 'ac09a7a5eaf3e6c6b4cf524d2677dfdd90554183',
  'check-server': '91aa6cff1634792d87b1ff7b1eea88e86ae6965c',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '3b07fc69ef009ed8b65441af0b50786aca7950ec',
  inspect: '2929f825165ec40d8d98c3a2740e5a436fdaf9f9',
  'list-names': 'caec035c3e892d4e2b5c74e2fef22d694129e94f',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '8dc41ddf3ca5dea95a19f86ac90e6a1709215a3f',
  release: 'dc5d6dc3e8725d6a9570c39245293c05ed93a2f2',
  revoke: '5c0f6fedfb87cedc7e2a7cadc744a4b3852cf8e2',
  'set-limit': '68fb20734471c697166d8af4b2b8dd41d4b44701',
  'set-rate': '78af5e8e795bf19df7391412a2b9bd5ebed08b91',
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
