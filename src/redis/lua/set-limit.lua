-- Stores the limit that counts from now on for every process, and grants what it makes room for. Nobody loses a permit
-- when it shrinks.
--
-- KEYS  tickets, free, queue, waiters, meta
-- ARGV  1 limit (and, after a space, a clock: see clock.lua)   2 the caller's inbox channel, which ends in its name
--       3 the new limit   4 not after (microseconds, or '')
-- Reply 'head|l when late, else empty|grants', the head as in state.lua, grants as in acquire.lua
-- Cost  O(log n) for each expired ticket and grant

-- include: clock
local ids, total, giving, verdicts, listed = {}, 0, false, {}, ''
local late = ARGV[4] ~= '' and now > ARGV[4] * 1.0
local stored = call('HMGET', meta, 'state', 'limit')
if not late then
  stored[2] = ARGV[3]
end
-- include: state purge

if not late then
  fields, filled = { 'limit', ARGV[3] }, 2
end
-- include: serve
-- include: write
call('PEXPIRE', meta, math.ceil(math.max(until_ - now, 0) / 1000 + DAY))
return head .. '|' .. (late and 'l' or '') .. '|' .. told
