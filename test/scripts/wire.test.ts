import { expect } from 'chai';

import * as quorumScripts from '../../src/backends/quorum/scripts.js';
import * as redisScripts from '../../src/backends/redis/scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '23834de99c3ed3644936b8e9d2e6ea779df7d13b',
  adopt: 'e92d3d1e9aef1dff8a0484595065f12a056706eb',
  'check-server': '789ab094644d1e930ec01eb3e727ab1cbe877b13',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '593aef429c41b10127a110ccf17b6904fb19f3ea',
  inspect: 'd076b4d82db552289b878411d4b2c15ad5c2c84b',
  'list-names': 'caec035c3e892d4e2b5c74e2fef22d694129e94f',
  'note-stripes': '8340ffadfa474d035c5cec84f8e7a6ecb5963cc9',
  overview: '960d41648e74b3d657000e69950c727e9e8be07d',
  release: 'c2b32baef91a6618255b3e1d83c1bbfe3041f9c0',
  revoke: 'bf557b57edb344ea61c255126e6640412574f93f',
  'set-limit': '0c4cf5f02cfd4222cd689a3d238bd2496bc8f7dd',
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
