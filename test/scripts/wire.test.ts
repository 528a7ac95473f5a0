import { expect } from 'chai';

import * as scripts from '../../src/backends/redis/scripts.js';

/** What stands on the wire: a change here means that old and new processes run different scripts. */
const SHA1: Record<string, string> = {
  acquire: '2b7ef9084328283b0688540d1bf29b150349f04a',
  adopt: 'c7ce3c8538ef05b25ef19be785d11cbb56cb018e',
  'check-server': 'ebc84e507046b2fd9fd363ab73226269bfb7b233',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '4003c75f6679f5dbfdd325d4204c584909c021b4',
  inspect: 'a0e499011e2567fea160f51b1f979362381d809b',
  'note-stripes': 'a54677a303bfbd5b5aab844b767ec29c2427bafb',
  'quorum-drop': '4155da0d8d57dd490a7099d5c7bd58aa366474d9',
  'quorum-keep': '8f070585066a07987dacf9d3afb6e4b71a739b63',
  'quorum-list': 'f55f00392b533c2b993f287884fa1eff73d6fdf6',
  'quorum-take': '884a86dafcf6fa4432314fe9f04ca08216660243',
  release: '3f96dcc817de8e93338658102b27e4a242ba243a',
  revoke: '7a278c8288444f89ac2c5c6eb893101120d5cb96',
  'set-limit': 'c606975e5dc51b4ed6f68648048cf922e8b25780',
};

describe('scripts on the wire', () => {
  it('are those of the last review', () => {
    const sent = Object.values(scripts).map(({ name, sha1 }) => [name, sha1]);
    expect(Object.fromEntries(sent)).to.deep.equal(SHA1);
  });
});
