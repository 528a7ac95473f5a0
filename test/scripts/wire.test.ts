import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '8a3ebd2df546dc3c151815db97e07fc548cd6db4',
  adopt: 'af2206e9b436760e369e124a9ffdaf8c85ba6107',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  'eviction-policy': 'ad6ae099561e3f53981b3cf1430986e529b9f3cd',
  extend: 'eb4fbe3fb1e240e9809b5f648cb5bd7fcf597bf4',
  inspect: '20113010be610b2f9db106944d8c268a6ce9731f',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  release: '769f055da2f67d87c374a9f9623e6d870135517f',
  revoke: '903e31c81609004d91453a3fb4ba9ff67fef2e20',
  'set-limit': '657b21327184de4176d42e49e97a90a020d26e19',
  'set-rate': 'bf78f3d5d8a5909e2648ed3c0d6f054bb1f7a824',
  overview: '937dbbb62b61b42d6b9f6c6f242e4b5caadbce3c',
  'quorum-drop': '96b33beeed4c514f4464e02afbf22f4414687fe6',
  'quorum-hold': 'c7d77003fd4d4f8b11d687745f93f4b472ef1194',
  'quorum-list': 'a88b0f50ea1674bbadd9fe6ab6a64f5266a6bb4a',
};

describe('scripts on the wire', () => {
  it('are those of the last review', () => {
    const sent = redisScripts.map(({ name, sha1 }) => [name, sha1]);
    expect(Object.fromEntries(sent)).to.deep.equal(SHA1);
  });
});
