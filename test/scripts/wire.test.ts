import { expect } from 'chai';

import * as quorumScripts from '../../src/backends/quorum/scripts.js';
import * as redisScripts from '../../src/backends/redis/scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '874db674c24097a9eb04e1f33996f4e957ec6f40',
  adopt: '77547a706b36608f3c9a347a629833564bd81d61',
  'check-server': '91aa6cff1634792d87b1ff7b1eea88e86ae6965c',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '1ccaf9aa590292e3ab4f41beda3804f9c8beb15f',
  inspect: '2929f825165ec40d8d98c3a2740e5a436fdaf9f9',
  'list-names': 'caec035c3e892d4e2b5c74e2fef22d694129e94f',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '48626730b7184695d685b4d67976a5f0affe2a57',
  release: '8cb9dc6ed558379b6c9fd2ce5421b1c88595bb09',
  revoke: 'a5555232ac6a97c75e01a5930b8fe910f6d7a9b1',
  'set-limit': '6adcb3f643ea9b2d5470d3726be844d13523885c',
  'set-rate': '17c99170d6c7e66cbff90685af9c26313f170fa2',
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
