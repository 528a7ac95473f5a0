import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '85f51f9be39738e8ca3b6b839bfd0ff5d85417c6',
  adopt: '708a4592670486a0089a1d2ebd8e9ec5b9d2f9f9',
  'check-server': '91aa6cff1634792d87b1ff7b1eea88e86ae6965c',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '67463760f448532243a6629d505ea34a0f4e32fa',
  inspect: 'd818ae5609e9c7940f8f1341e6f777d39d9cf86f',
  'list-names': 'caec035c3e892d4e2b5c74e2fef22d694129e94f',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  overview: '48626730b7184695d685b4d67976a5f0affe2a57',
  release: '9515b6d6be130d55ef1fd0b203f413c743aecdaa',
  revoke: '39149e0d8003cc49fd55b30359aaf90804052d7e',
  'set-limit': '590e5c793fc3b97cd5ea4f1986190b8d1cf22d45',
  'set-rate': 'fcd20b2d7442d1dd8419d657db70333da917bf2e',
  'quorum-drop': '3f7770e21dcad2202a1613cfefb22a52ca74e93f',
  'quorum-hold': 'e7fc25eb159f75beab7899ba2be6e5b56f0094b0',
  'quorum-list': 'd0a95d83fa2e5aeb4a8c953df4facb5056bb82f5',
};

describe('scripts on the wire', () => {
  it('are those of the last review', () => {
    const sent = redisScripts.map(({ name, sha1 }) => [name, sha1]);
    expect(Object.fromEntries(sent)).to.deep.equal(SHA1);
  });
});
