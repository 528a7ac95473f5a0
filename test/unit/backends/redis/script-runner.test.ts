import { expect } from 'chai';

import { UnfitServerError } from '../../../../src/backends/unfit-server.js';
import { RedisBackend } from '../../../../src/backends/redis/redis-backend.js';
import { runScript } from '../../../../src/backends/redis/script-runner.js';
import { errorOf } from '../../../support/rejection.js';

describe('running a script', () => {
  const script = { name: 'test', sha1: 'abc', text: 'return 1' };

  for (const message of [
    // Redis 7.0 and 4; a service that forbids TIME; a server without scripts; clock.lua.
    'ERR Unknown Redis command called from script script: 0a1b, on @user_script:9.',
    'ERR Error running script: Write commands not allowed after non deterministic commands. Call redis.replicate_commands()',
    'ERR This Redis command is not allowed from script script: 0a1b, on @user_script:2.',
    "ERR unknown command 'EVALSHA', with args beginning with: '0a1b' '5'",
    'REDSEM_TIME 0000000',
  ]) {
    it(`says what is needed, and does not retry, after: ${message}`, async () => {
      const refuse = () => Promise.reject(new Error(message));
      const port = { runBySha: refuse, runByText: refuse };
      const outcome = await errorOf(runScript(port, script, [], [], String), UnfitServerError);
      expect(String(outcome)).to.match(/redsem needs Redis 6\.2 or newer, or Valkey/);
      expect(outcome).to.have.nested.property('cause.message', message);
      expect(new RedisBackend(port).isRetryable(outcome)).to.equal(false);
    });
  }
});
