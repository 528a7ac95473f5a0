-- Notes with how many stripes keyed mutexes of a name are used.
--
-- KEYS  stripes, a sorted set: number of stripes -> when it was last used (microseconds)
-- ARGV  1 the caller's number, 0 for none
-- Reply the numbers that were used within a day, with spaces between
-- Cost  O(numbers)

-- include: time
local stripes = KEYS[1]
redis.call('ZREMRANGEBYSCORE', stripes, '-inf', string.format('%d', now_text - 86400000000.0))
redis.call('ZADD', stripes, now_text, ARGV[1])
redis.call('PEXPIRE', stripes, '86400000')
return table.concat(redis.call('ZRANGE', stripes, '0', '-1'), ' ')
