import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: 'e20db6dfe5e8a11fc503fed718860131fdece7de',
  adopt: '675ecf34426e3a7db31a50e4ce7af34cf123d8b5',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  'eviction-policy': 'ad6ae099561e3f53981b3cf1430986e529b9f3cd',
  extend: '30137cd7f75b4bbc854979657b5716ebc47f2da5',
  inspect: '3e2693cc437d69662d47e63a74f420dd69c7129d',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  release: 'b2f3ca5242adf3da624d716d6a44f61153a8e621',
  revoke: 'd24a6590a251adfa73c14c9ba93ce5fa992310ce',
  'set-limit': 'b664f410a14dfedc2f838a401dd1bffbd6fd41b8',
  'set-rate': 'f678caa44b8e52038a017ef6293dd25520f81430',
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
