import { expect } from 'chai';

import * as scripts from '../../src/backends/redis/scripts.js';

/** What stands on the wire: a change here means that old and new processes run different scripts. */
const SHA1: Record<string, string> = {
  acquire: 'f544029a8da4ff3a84233971d739c2c30f4975ad',
  adopt: '4f2fac4be77c62d49c8b573146cf90f583ccad7f',
  'check-server': 'ebc84e507046b2fd9fd363ab73226269bfb7b233',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '31d34536f02381c15993ba28e5b155ea7fdf192f',
  inspect: 'a0e499011e2567fea160f51b1f979362381d809b',
  'note-stripes': 'a54677a303bfbd5b5aab844b767ec29c2427bafb',
  'quorum-drop': '4155da0d8d57dd490a7099d5c7bd58aa366474d9',
  'quorum-keep': '8f070585066a07987dacf9d3afb6e4b71a739b63',
  'quorum-list': 'f55f00392b533c2b993f287884fa1eff73d6fdf6',
  'quorum-take': '884a86dafcf6fa4432314fe9f04ca08216660243',
  release: '094bdaa72c33eb5131090f9d05eb61b1c45d8745',
  revoke: 'd44125af97f250e1e16cff468188656829d2d434',
  'set-limit': 'd094620569be74facd0c5d74787c771b258a2fea',
};

describe('scripts on the wire', () => {
  it('are those of the last review', () => {
    const sent = Object.values(scripts).map(({ name, sha1 }) => [name, sha1]);
    expect(Object.fromEntries(sent)).to.deep.equal(SHA1);
  });
});
