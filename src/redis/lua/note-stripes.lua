-- Notes with how many stripes keyed mutexes of a name are used.
--
-- KEYS  stripes, a sorted set: number of stripes -> when it was last used (microseconds)
-- ARGV  1 limit (and, after a space, a clock: see clock.lua)   2 the caller's number, 0 for none
-- Reply the numbers that were used within a day, with spaces between
-- Cost  O(numbers)

-- include: clock
local stripes = KEYS[1]
call('ZREMRANGEBYSCORE', stripes, '-inf', format('%.0f', now - DAY * 1000))
call('ZADD', stripes, now_text, ARGV[2])
call('PEXPIRE', stripes, format('%.0f', DAY))
return table.concat(call('ZRANGE', stripes, '0', '-1'), ' ')
