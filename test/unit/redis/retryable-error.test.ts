import { expect } from 'chai';

import { isRetryableError } from '../../../src/redis/retryable-error.js';

/** Texts as Redis 6.2 and 7, Valkey, node-redis and ioredis give them. */
const PASS_BY_THEMSELVES: readonly string[] = [
  'LOADING Redis is loading the dataset in memory',
  "READONLY You can't write against a read only replica.",
  "READONLY You can't write against a read only replica. script: 6a5e1f, on @user_script:8.",
  "ERR Error running script (call to f_6a5e1f): @user_script:8: @user_script: 8: -READONLY You can't write against a read only replica.",
  "-READONLY You can't write against a read only replica.",
  'MOVED 3999 127.0.0.1:6381',
  'ASK 3999 127.0.0.1:6381',
  'TRYAGAIN Multiple keys request during rehashing of slot',
  'CLUSTERDOWN The cluster is down',
  'CLUSTERDOWN Hash slot not served',
  "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  'NOREPLICAS Not enough good replicas to write.',
  'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
  'NOSCRIPT No matching script. Please use EVAL.',
  'UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)',
  'ERR max number of clients reached',
  // Connections and clients.
  'connect ECONNREFUSED 127.0.0.1:6379',
  'connect ETIMEDOUT',
  'read ECONNRESET',
  'write EPIPE',
  'getaddrinfo EAI_AGAIN redis.example',
  'getaddrinfo ENOTFOUND redis.example',
  'Socket closed unexpectedly',
  'Connection timeout',
  'Socket timeout',
  'Command timed out',
  'Timeout',
  'The command was aborted',
  'The client is offline',
  'Connection is closed.',
  "Stream isn't writeable and enableOfflineQueue options is false",
  'Reached the max retries per request limit (which is 20). Refer to "maxRetriesPerRequest" option for details.',
  'Too many Cluster redirections. Last error: Error: MOVED 3999 127.0.0.1:6381',
  'Failed to refresh slots cache.',
  'None of startup nodes is available',
  'All sentinels are unreachable and retry is disabled.',
  'no reply within 1000 ms',
  '',
];

const NEVER_WORK: readonly string[] = [
  'WRONGTYPE Operation against a key holding the wrong kind of value',
  'WRONGTYPE Operation against a key holding the wrong kind of value script: 6a5e1f, on @user_script:8.',
  'ERR Error running script (call to f_6a5e1f): @user_script:8: WRONGTYPE Operation against a key holding the wrong kind of value',
  "OOM command not allowed when used memory > 'maxmemory'.",
  "OOM command not allowed when used memory > 'maxmemory'. script: 6a5e1f, on @user_script:8.",
  "ERR Error running script (call to f_6a5e1f): @user_script:8: @user_script: 8: -OOM command not allowed when used memory > 'maxmemory'.",
  'NOPERM this user has no permissions to access one of the keys used as arguments',
  "NOPERM this user has no permissions to run the 'evalsha' command",
  "NOPERM User limited has no permissions to run the 'evalsha' command",
  'NOPERM No permissions to access a key',
  "ERR The user executing the script can't run this command or subcommand script: 6a5e1f, on @user_script:8.",
  'NOAUTH Authentication required.',
  'WRONGPASS invalid username-password pair or user is disabled.',
  "ERR unknown command 'EVALSHA', with args beginning with: ",
  "CROSSSLOT Keys in request don't hash to the same slot",
  'ERR Script attempted to access a non local key in a cluster node script: 6a5e1f, on @user_script:8.',
  'ERR Error compiling script (new function): user_script:1: unexpected symbol',
  'ERR value is not a valid float script: 6a5e1f, on @user_script:8.',
  'EXECABORT Transaction discarded because of previous errors.',
];

describe('errors that pass by themselves', () => {
  for (const message of PASS_BY_THEMSELVES) {
    it(`are worth another try: ${message.slice(0, 90)}`, () => {
      expect(isRetryableError(new Error(message))).to.equal(true);
    });
  }

  for (const message of NEVER_WORK) {
    it(`are not: ${message.slice(0, 100)}`, () => {
      expect(isRetryableError(new Error(message))).to.equal(false);
    });
  }

  it('are not errors of the program itself', () => {
    expect(isRetryableError(new TypeError('Invalid argument type'))).to.equal(false);
  });

  it('are told of what is thrown without being an Error, too', () => {
    expect(isRetryableError('LOADING Redis is loading')).to.equal(true);
    expect(isRetryableError('WRONGTYPE Operation against a key')).to.equal(false);
    expect(isRetryableError(undefined)).to.equal(true);
    expect(isRetryableError(null)).to.equal(true);
  });

  it('of several addresses of one host are worth another try', () => {
    const refused = [
      new Error('connect ECONNREFUSED ::1:6379'),
      new Error('connect ECONNREFUSED 127.0.0.1:6379'),
    ];
    expect(isRetryableError(new AggregateError(refused))).to.equal(true);
  });
});
