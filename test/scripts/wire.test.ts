import { expect } from 'chai';

import * as quorumScripts from '../../src/backends/quorum/scripts.js';
import * as redisScripts from '../../src/backends/redis/scripts.js';

/** What goes over the wire: a change here means that old and new processes run different scripts. */
const SHA1: Record<string, string> = {
  acquire: '8bc82dd579a218a9298d1877231a71b744ef24e3',
  adopt: '4f2fac4be77c62d49c8b573146cf90f583ccad7f',
  'check-server': 'ebc84e507046b2fd9fd363ab73226269bfb7b233',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '31d34536f02381c15993ba28e5b155ea7fdf192f',
  inspect: 'a0e499011e2567fea160f51b1f979362381d809b',
  'list-names': 'caec035c3e892d4e2b5c74e2fef22d694129e94f',
  'note-stripes': 'a54677a303bfbd5b5aab844b767ec29c2427bafb',
  release: '094bdaa72c33eb5131090f9d05eb61b1c45d8745',
  revoke: 'd44125af97f250e1e16cff468188656829d2d434',
  'set-limit': '05b9f3be8a20c4975d3ddacd3dc9a2cb08e38647',
  'quorum-drop': 'acb7f071abec6df14dfe506b4bff997c428ada15',
  'quorum-hold': '67a1b84c361805bf14da25f225fe927e14ea4366',
  'quorum-list': '8b16c6e83b16ce4152df57828d982f26216fafff',
};

describe('scripts on the wire', () => {
  it('are those of the last review', () => {
    const sent = [...Object.values(redisScripts), ...Object.values(quorumScripts)].map(
      ({ name, sha1 }) => [name, sha1],
    );
    expect(Object.fromEntries(sent)).to.deep.equal(SHA1);
  });
});
