import { expect } from 'chai';

import * as quorumScripts from '../../src/backends/quorum/scripts.js';
import * as redisScripts from '../../src/backends/redis/scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '827287bdaf306dee98e44e894d11a346b06c34c9',
  adopt: '2e271e770cae7901b8c922a2bdddce4f3ba15fc4',
  'check-server': '789ab094644d1e930ec01eb3e727ab1cbe877b13',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: 'de75070b84d500bfc446cc4c7e55e510107abe3d',
  inspect: 'd9bc2af9a33866814ebf29668ae7e213cc6e9c62',
  'list-names': 'caec035c3e892d4e2b5c74e2fef22d694129e94f',
  'note-stripes': '8340ffadfa474d035c5cec84f8e7a6ecb5963cc9',
  release: 'dfdd66f98683720f78e93473c3c28c037a333bc3',
  revoke: '3106658203d23c63a439a97e023b8bcf5ee04682',
  'set-limit': 'ec7d5e885a8052dc53ab61346677607aa5b5cd29',
  'quorum-drop': '040b6cebf4fdba54ca89da3274093816736d3362',
  'quorum-hold': '47811359bc05b969328118ca231a152ab24394db',
  'quorum-list': 'd792649a155c55036672aa96bdcdddd9f0e600b4',
};

describe('scripts on the wire', () => {
  it('are those of the last review', () => {
    const sent = [...Object.values(redisScripts), ...Object.values(quorumScripts)].map(
      ({ name, sha1 }) => [name, sha1],
    );
    expect(Object.fromEntries(sent)).to.deep.equal(SHA1);
  });
});
