-- Fragment: the keys by name, and the server's time in microseconds, read once.
--
-- Numbers leave a script only through format(): tostring() and .. print 14 digits, and ioredis-mock's Lua
-- has 32-bit integers, which is also why every number here is made a float (* 1.0) before it is used.
-- Most fragments are straight code: making a closure at each call costs more than most Redis calls do.
local tickets, free, queue, waiters, meta = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local call, format, match = redis.call, string.format, string.match

-- ARGV[1] stands in for the clock of ioredis-mock, whose TIME runs backwards. A real server gets ''.
local now, now_text = 0, ARGV[1]
if now_text == '' then
  local time = call('TIME')
  now_text = format('%s%06d', time[1], time[2])
end
now = now_text * 1.0
