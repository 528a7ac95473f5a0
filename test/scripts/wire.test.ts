import { expect } from 'chai';

import { redisScripts } from '../support/redis-scripts.js';

/**
 * What goes over the wire: a change here means that old and new processes run different scripts.
 */
const SHA1: Record<string, string> = {
  acquire: 'b1337f30b9e3098c772fd0611ba1d4f5ddd65af6',
  adopt: '7c3258393c920f5af3bf4d86a06e0afb88fb409a',
  'check-server': '6919d9a5320f77c062ac55617acb0545176a7a76',
  'eviction-policy': 'c5ee611e4b32f3b327e2b22836b7d4e0d825ed7a',
  extend: 'd59dbe9b8d248444ff61cfde93b442e21bde3edd',
  inspect: 'b26a8549ee308d6089ebceaa5fc81ba82775766d',
  'list-names': '75978a8e8b2c049a33c5747ae55fe552a4d785cf',
  'note-stripes': '2fee9e935a7d1bedaab7b7d3108f093e23e7ed1d',
  release: '7f874ef755d7ade2023cf8fa1fc608b03b3727fb',
  revoke: 'e5142be179eca438bf438779e634e3c0d5aa0a07',
  'set-limit': 'e2a3dece47651306d8f33bf5cfc430369fef41fc',
  'set-rate': '3aa0a7d254739d7cb3e593134dd4e0360995db6d',
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
