-- Stores the limit that counts from now on for every process, and grants what it makes room for. Nobody loses a permit
-- when it shrinks.
--
-- KEYS  tickets, free, queue, waiters, meta
-- ARGV  1 now (microseconds; '' on a real server)   2 limit of the caller   3 start of inbox channels   4 client
--       5 the new limit
-- Reply 'head|grants', the head as in state.lua, grants as in acquire.lua
-- Cost  O(log n) for each expired ticket and grant

-- include: clock
local from, to, need, giving, verdicts = 6, 5, math.huge, false, {}
local stored = call('HMGET', meta, 'state', 'limit')
stored[2] = ARGV[5]
-- include: state

fields[1], fields[2] = 'limit', ARGV[5]
-- include: serve
-- include: write
call('PEXPIRE', meta, math.ceil(math.max(until_ - now, 0) / 1000 + DAY))
return head .. '|' .. told
