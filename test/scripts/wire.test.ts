import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: 'f0eb12bf00c96260b0b369f426225bd103ba4b08',
  adopt: 'e301f36b126f8daba59ea9bcd19878d0cd5b691f',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  'eviction-policy': 'ad6ae099561e3f53981b3cf1430986e529b9f3cd',
  extend: 'ea8729cc90816fd0408e3b3d27eaf70df341df9a',
  inspect: '244652bf86ecb786f8d322622bddf70e2b24b9ed',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  release: 'fa2e88b84600e39241c332c6ca2492890e91aadf',
  revoke: '5716450c4ff3674884b94c610cfafb72af4d255c',
  'set-limit': '58d0a9b07c438554a559aa9919ccc761e2c96040',
  'set-rate': '920bcdd67e69178d438b04ed5e071c3cd79093a4',
  overview: '97e89ec3b6e1cf43f905b4c9f3f8dda4b1d0599a',
  'quorum-drop': '96b33beeed4c514f4464e02afbf22f4414687fe6',
  'quorum-hold': '524e0fb29f4266370e7e20566bcbd530fd46ec44',
  'quorum-list': 'a88b0f50ea1674bbadd9fe6ab6a64f5266a6bb4a',
};

describe('scripts on the wire', () => {
  it('are those of the last review', () => {
    const sent = redisScripts.map(({ name, sha1 }) => [name, sha1]);
    expect(Object.fromEntries(sent)).to.deep.equal(SHA1);
  });
});
