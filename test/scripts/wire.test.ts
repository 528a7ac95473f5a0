import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: '6592e2a894a6470085f6e0da877b9b40cb2617ce',
  adopt: '3ed58957e9075f4d222dd7ab81fb5b8e5b50a5f7',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  'eviction-policy': 'ad6ae099561e3f53981b3cf1430986e529b9f3cd',
  extend: '7b774f3524515df77df6e0dabca58acfb5749356',
  inspect: '20113010be610b2f9db106944d8c268a6ce9731f',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  release: '36eae3c7cb956b10a2b65a9b68c1e2d68f45a4f4',
  revoke: 'e114d2dce7adace07606fbf8204bad02520b45b8',
  'set-limit': '2f58d8bb8a139fe7ef2ffeeb3b1ebb9aa867dce3',
  'set-rate': '4419f4ec102cfbb178529e438b88513a3a78276c',
  overview: '937dbbb62b61b42d6b9f6c6f242e4b5caadbce3c',
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
