-- Stores the limit that counts from now on for every process, and grants what it makes room for. Nobody loses a permit
-- when it shrinks.
--
-- KEYS  tickets, free, queue, waiters, meta
-- ARGV  1 now (microseconds; '' on a real server)   2 limit of the caller   3 start of inbox channels   4 client
--       5 the new limit   6 not after (microseconds, or '')
-- Reply 'head|l when late, else empty|grants', the head as in state.lua, grants as in acquire.lua
-- Cost  O(log n) for each expired ticket and grant

-- include: clock
local from, to, need, giving, verdicts = 7, 6, math.huge, false, {}
local late = ARGV[6] ~= '' and now > ARGV[6] * 1.0
local stored = call('HMGET', meta, 'state', 'limit')
stored[2] = late and stored[2] or ARGV[5]
-- include: state

if not late then
  fields[1], fields[2] = 'limit', ARGV[5]
end
-- include: serve
-- include: write
call('PEXPIRE', meta, math.ceil(math.max(until_ - now, 0) / 1000 + DAY))
return head .. '|' .. (late and 'l' or '') .. '|' .. told
