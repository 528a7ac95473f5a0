-- Fragment: the keys by name, the caller's limit, and the server's time in microseconds, read once.
--
-- Numbers leave a script only through format(): tostring() and .. print 14 digits, and ioredis-mock's Lua
-- has 32-bit integers, which is also why every number here is made a float (* 1.0) before it is used.
-- Most fragments are straight code: making a closure at each call costs more than most Redis calls do. A string takes as long
-- to get into a script, or into a Redis call, as some hundred instructions here, and a table that grows as much again.
local tickets, free, queue, waiters, meta = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local call, format, match, type = redis.call, string.format, string.match, type

-- Behind the limit, ioredis-mock gets what stands in for its clock, whose TIME runs backwards.
local own_limit, now, now_text = ARGV[1], 0, match(ARGV[1], ' (%d+)$')
if now_text then
  own_limit = match(own_limit, '^%d+')
else
  local time = call('TIME')
  now_text = #time[2] == 6 and time[1] .. time[2] or format('%s%06d', time[1], time[2])
end
now = now_text * 1.0
