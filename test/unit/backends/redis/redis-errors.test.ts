import { expect } from 'chai';

import { RetryRule } from '../../../../src/backends/redis/redis-errors.js';

/** Texts as Redis 6.2 and 7, Valkey, node-redis and ioredis give them. */
const PASS_BY_THEMSELVES: readonly string[] = [
  'LOADING Redis is loading the dataset in memory',
  "READONLY You can't write against a read only replica.",
  "ERR Error running script (call to f_6a5e1f): @user_script:8: @user_script: 8: -READONLY You can't write against a read only replica.",
  'MOVED 3999 127.0.0.1:6381',
  'TRYAGAIN Multiple keys request during rehashing of slot',
  'CLUSTERDOWN Hash slot not served',
  "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  'NOREPLICAS Not enough good replicas to write.',
  'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
  'UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)',
  'ERR max number of clients reached',
  // Connections and clients.
  'Connection is closed.',
  "Stream isn't writeable and enableOfflineQueue options is false",
  'Reached the max retries per request limit (which is 20). Refer to "maxRetriesPerRequest" option for details.',
  '',
];

const NEVER_WORK: readonly string[] = [
  'WRONGTYPE Operation against a key holding the wrong kind of value',
  'WRONGTYPE Operation against a key holding the wrong kind of value script: 6a5e1f, on @user_script:8.',
  'ERR Error running script (call to f_6a5e1f): @user_script:8: WRONGTYPE Operation against a key holding the wrong kind of value',
  "OOM command not allowed when used memory > 'maxmemory'.",
  "ERR Error running script (call to f_6a5e1f): @user_script:8: @user_script: 8: -OOM command not allowed when used memory > 'maxmemory'.",
  'NOPERM this user has no permissions to access one of the keys used as arguments',
  "NOPERM this user has no permissions to run the 'evalsha' command",
  "ERR The user executing the script can't run this command or subcommand script: 6a5e1f, on @user_script:8.",
  'NOAUTH Authentication required.',
  'WRONGPASS invalid username-password pair or user is disabled.',
  "ERR unknown command 'EVALSHA', with args beginning with: ",
  "CROSSSLOT Keys in request don't hash to the same slot",
  'ERR Script attempted to access a non local key in a cluster node script: 6a5e1f, on @user_script:8.',
];

describe('errors that pass by themselves', () => {
  const retryable = (error: unknown): boolean => new RetryRule().isRetryable(error);

  it('are worth another try, and others are not, by what they say', () => {
    for (const message of PASS_BY_THEMSELVES) {
      expect(retryable(new Error(message)), message).to.equal(true);
    }
    for (const message of NEVER_WORK) {
      expect(retryable(new Error(message)), message).to.equal(false);
      expect(retryable(message), message).to.equal(false);
    }
    expect(retryable(new TypeError('Invalid argument type'))).to.equal(false);
    for (const thrown of [undefined, null, 'LOADING Redis', new AggregateError([new Error('x')])]) {
      expect(retryable(thrown)).to.equal(true);
    }
  });
});
