import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: 'ff6a6deea2ae85ced8d9edef0b1024623f2459d1',
  adopt: 'fb887c55476ae436d5dea5bfc51956dd038d2d26',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  'eviction-policy': 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: '8bffd5fd211bb60af7c5d091f9a9460be0ad52fb',
  inspect: 'b26a8549ee308d6089ebceaa5fc81ba82775766d',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  release: 'cc6cfae6ff1161d799b5461a1686d12387f5dfb0',
  revoke: '3e45dfeeb9377eda4caa8361b7148b50b2334717',
  'set-limit': 'f2909d9470dfd6a8a434fb8bb6cf7b349ef158af',
  'set-rate': 'f44eefaf476d416b2905cf57d15d99b536fde3ac',
  overview: '7a5a768c3648df650a86f20d97a9c36654942d66',
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
