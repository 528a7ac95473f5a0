import { expect } from 'chai';

import * as quorumScripts from '../../src/backends/quorum/scripts.js';
import * as redisScripts from '../../src/backends/redis/scripts.js';

/** What stands on the wire: a change here means that old and new processes run different scripts. */
const SHA1: Record<string, string> = {
  acquire: '96caccdcad1c586b77a9158fd76d18d77f49f0a8',
  adopt: '3860c81f135ab391c2bec8c2cc1e6bdebb141069',
  'check-server': 'ebc84e507046b2fd9fd363ab73226269bfb7b233',
  eviction: 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '12447c133e7221346c80997d4e73e1605aa64906',
  inspect: 'a0e499011e2567fea160f51b1f979362381d809b',
  'list-names': 'caec035c3e892d4e2b5c74e2fef22d694129e94f',
  'note-stripes': 'a54677a303bfbd5b5aab844b767ec29c2427bafb',
  release: '6578a068b1c20583a56af351ef537f6e6b1a9c56',
  revoke: '7f39d0c7c21b009beddc12b27438e9108705d4d5',
  'set-limit': 'db80c91acaaba33923ec6a57d2d06f684523be8c',
  'quorum-drop': 'acb7f071abec6df14dfe506b4bff997c428ada15',
  'quorum-hold': '67a1b84c361805bf14da25f225fe927e14ea4366',
  'quorum-list': '8b16c6e83b16ce4152df57828d982f26216fafff',
};

describe('scripts on the wire', () => {
  it('are those of the last review', () => {
    const sent = [...Object.values(redisScripts), ...Object.values(quorumScripts)].map(
      ({ name, sha1 }) => [name, sha1],
    );
    expect(Object.fromEntries(sent)).to.deep.equal(SHA1);
  });
});
