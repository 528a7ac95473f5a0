const COMMANDS =
  'eval evalsha time exists hget hgetall hlen hexists hmget hset hsetnx hdel hincrby hscan zadd zcard zcount zmscore zscore zrange ' +
  'zrangebyscore zrank zrem zremrangebyscore zscan del pexpire pttl publish subscribe';

/**
 * All that a user of Redis needs to run a semaphore with the default prefix:
 * `ACL SETUSER name on >password` and these. Without the channel, PUBLISH and SUBSCRIBE it works
 * too, by polling.
 */
export const leastRights: readonly string[] = [
  '~redsem:*',
  '&redsem:inbox:*',
  ...COMMANDS.split(' ').map((command) => `+${command}`),
];
