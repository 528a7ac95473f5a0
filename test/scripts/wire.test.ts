import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: 'a72944d028deac4b40d8a22d81f3213a6cd6f765',
  adopt: '97807fca2d0e8b8b8c85f494456a9542d832308f',
  'check-server': '91aa6cff1634792d87b1ff7b1eea88e86ae6965c',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '6a1741d4c1b54822cfd9af084f131800a8609ae5',
  inspect: 'b084d0053ea5518279b65d2fe9f1f5e1bf0d2455',
  'list-names': 'caec035c3e892d4e2b5c74e2fef22d694129e94f',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '8a5aad39093ec82cc2e600c9307a58a0af190e15',
  release: '00d5f4e6a07d3c199b1c5ca8d011d216bb59ed75',
  revoke: '1f44dd3fa7ce2db66c96f9961b86bb3f0e896eaf',
  'set-limit': '29fc4fa564c388f94f9f584f5e0b127366c245ae',
  'set-rate': '5495f1f3b4c3cf9350b6811428f6c93ba81208e2',
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
