import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '7339de05fbff90540a794d266e129c28cf0326f1',
  adopt: '0a99ea90ab584309054d490e6abf1516c7fd56dc',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '228d214c078b51d7185923325fab97d79f368287',
  inspect: '1abffd85da565bcc6c7bfb15412a23daff51767a',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '22e5146d1f35006c8927b33275863838058314b4',
  release: '4273a84c74f95ca70247d0f4aa013b928d0630a3',
  revoke: 'bd685b64537d198c68e160a028a2fdb03c2bda08',
  'set-limit': 'f41892346c31bda7653a5c1fbaece854f073e76c',
  'set-rate': '695c82cafd192451d9bcd310b3d6464716a9aff7',
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
