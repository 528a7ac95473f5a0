-- Fragment: the keys by name, the caller's limit, and the server's time in microseconds, read once.
--
-- Numbers leave a script only through format(): tostring() and .. print 14 digits, and ioredis-mock's Lua
-- has 32-bit integers, which is also why every number here is made a float (* 1.0) before it is used.
-- Most fragments are straight code: making a closure at each call costs more than most Redis calls do. A string takes as long
-- to get into a script, or into a Redis call, as some hundred instructions here, and a table that grows as much again.
local tickets, free, queue, waiters, meta = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local call, format, match, type = redis.call, string.format, string.match, type

-- How long a process's queued requests count without a sign of life from it, how long a granted ticket lives
-- until its waiter claims it, and how much longer than its last ticket a key may stay (microseconds); a day (ms).
local WAITER_LEASE, CLAIM_TIME, GRACE, DAY = 5000000.0, 5000000.0, 1000000.0, 86400000.0

-- Redis keeps up to 128 members or 512 fields as a list that it searches from its start, until one is longer than 64 bytes
-- (https://redis.io/docs/latest/operate/oss_and_stack/management/optimization/memory-optimization/): from FEW on they are made
-- a table by one that is put in, and from sorted sets taken out again.
local FEW, LONG = 16, '_________________________________________________________________'

-- Behind the limit, ioredis-mock gets what stands in for its clock, whose TIME runs backwards.
local own_limit, limit, now_text, now = ARGV[1], tonumber(ARGV[1]), nil, nil
if limit then
  local time = call('TIME')
  local micros = time[2]
  -- Servers that only resemble Redis give scripts integers, or no time at all: nothing would ever expire.
  if type(micros) ~= 'string' then
    return redis.error_reply('REDSEM_TIME a ' .. type(micros))
  end
  now_text = #micros == 6 and time[1] .. micros or format('%s%06d', time[1], micros)
  now = now_text * 1.0
  -- Before 2020.
  if now < 1577836800000000.0 then
    return redis.error_reply('REDSEM_TIME ' .. now_text)
  end
else
  own_limit, now_text = match(own_limit, '^(%d+) (%d+)$')
  limit, now = own_limit * 1.0, now_text * 1.0
end
