import { expect } from 'chai';

import * as quorumScripts from '../../src/backends/quorum/scripts.js';
import * as redisScripts from '../../src/backends/redis/scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '15e41c16a73c443176c02a618a3bb50755fd41b6',
  adopt: 'cbe9cd16578e0872d8fc2ab2a8fad87dcf85bf7e',
  'check-server': '789ab094644d1e930ec01eb3e727ab1cbe877b13',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '7a3d77f8a5c21f790b9f4e11c93ecc2098af6f9e',
  inspect: '5943f4202724ff0fedad480b75a74c40f8f23ef0',
  'list-names': 'caec035c3e892d4e2b5c74e2fef22d694129e94f',
  'note-stripes': '8340ffadfa474d035c5cec84f8e7a6ecb5963cc9',
  overview: '960d41648e74b3d657000e69950c727e9e8be07d',
  release: '831e8b62bfd675ad36e3e0b6f2b9a4532a4ca94d',
  revoke: 'ab5f94119251dca0b5598b8fe108f73ba4822c11',
  'set-limit': '05530b5b3950656dd3125719479048f42352e09b',
  'set-rate': '6dcc7c0a89574c3b53c927400a2e1dad1932aed2',
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
