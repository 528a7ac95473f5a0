import { expect } from 'chai';

import * as quorumScripts from '../../src/backends/quorum/scripts.js';
import * as redisScripts from '../../src/backends/redis/scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: 'b2d29b6590b9af1a214c1d1746fbeb354d9cecce',
  adopt: '22fc9a460903db27a1fd447c0fd103180bfa32e9',
  'check-server': '789ab094644d1e930ec01eb3e727ab1cbe877b13',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '331ba338ac15a819b8ea91a003123bc141baeefc',
  inspect: '9171fbc55a076c76d312d6b9e6e1c954dd9e8a1c',
  'list-names': 'caec035c3e892d4e2b5c74e2fef22d694129e94f',
  'note-stripes': '8340ffadfa474d035c5cec84f8e7a6ecb5963cc9',
  overview: '144e63419da54f56d44b9adc1c6d9e4878979375',
  release: 'afe172538b0c55bc934a08234b1157d039b42f57',
  revoke: '956c213e1d30bce35e11288478949d80c2ad812c',
  'set-limit': 'f0af217ef7f02ac609ac335560f54703b9f3de07',
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
