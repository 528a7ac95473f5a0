-- Fragment: the keys by name, and the server's time in microseconds, read once.
--
-- Numbers leave a script only through f(): tostring() and .. print 14 digits, and ioredis-mock's Lua
-- has 32-bit integers, which is also why every number here is made a float (* 1.0) before it is used.
local tickets, slots, free = KEYS[1], KEYS[2], KEYS[3]
local queue, waiters, meta = KEYS[4], KEYS[5], KEYS[6]

local function f(number)
  return string.format('%.0f', number)
end

-- ARGV[1] stands in for the clock of ioredis-mock, whose TIME runs backwards. A real server gets ''.
local now
if ARGV[1] ~= '' then
  now = ARGV[1] * 1.0
else
  local time = redis.call('TIME')
  now = time[1] * 1000000.0 + time[2] * 1.0
end

-- An entry of a multi-value reply, or nil: ioredis-mock has a JavaScript null where a server has false.
local function some(value)
  return value and type(value) ~= 'userdata' and value or nil
end
