import { expect } from 'chai';

import * as quorumScripts from '../../src/backends/quorum/scripts.js';
import * as redisScripts from '../../src/backends/redis/scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '9562b873ddce5745faece8d7bc3fdecd0a61f95f',
  adopt: 'b1836ab197698c16b7b78a49b81c448a139fb312',
  'check-server': '789ab094644d1e930ec01eb3e727ab1cbe877b13',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: 'df7545da111885c197ff978b138b74c528abdc5a',
  inspect: '06d0be8f38e0c9dc34e2439d4f78a43aaf5371e9',
  'list-names': 'caec035c3e892d4e2b5c74e2fef22d694129e94f',
  'note-stripes': '8340ffadfa474d035c5cec84f8e7a6ecb5963cc9',
  overview: '144e63419da54f56d44b9adc1c6d9e4878979375',
  release: '9c9b7b7bf0387071e18d64c5818078b523410ae7',
  revoke: '9e481ca52fc989c2ea99f6be65aac66f43802002',
  'set-limit': '15154581c025b2ce0c94ef1e908666a7342726aa',
  'set-rate': '43d796a1a353f28fd38bad4f0eae21fb351e1c15',
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
