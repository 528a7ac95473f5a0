import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: 'ec9ef1ff3a48524cf665bfe246c7bd8cc01eb7d6',
  adopt: '17d07d2bfb1f44b7face7843e15be455d9dd4d08',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  'eviction-policy': 'ad6ae099561e3f53981b3cf1430986e529b9f3cd',
  extend: '9cb28d61aa95715069ca78a4f1e6fa21ba6cdb50',
  inspect: '20113010be610b2f9db106944d8c268a6ce9731f',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  release: '830bbd1b74ddd72cd3d16fe4834c578c0c8b8766',
  revoke: 'febd1fb3bf41b7cfd14a67ac56c4f554101b5a21',
  'set-limit': '1c31f1d37167ac22389a528c3ebac93bea644e10',
  'set-rate': '6c89ec24a5795d8fdca0d27c50d5f594053c7999',
  overview: '97e89ec3b6e1cf43f905b4c9f3f8dda4b1d0599a',
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
