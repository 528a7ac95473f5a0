-- include: clock purge grant
-- Gives tickets back and withdraws queued requests, by id; what is not there is left alone.
--
-- KEYS  tickets, slots, free, queue, waiters, meta
-- ARGV  1 now (microseconds; '' on a real server)   2 limit   3 start of inbox channels   4 client
--       then ids, at most 1000
-- Reply 'now|verdicts|grants': a digit for each id, 1 was a live ticket, 0 was not; grants as in acquire.lua
-- Cost  O(log n) for each id, expired ticket and grant

local ids, verdicts = { unpack(ARGV, 5, #ARGV) }, {}
local records = give_back(ids)
for i = 1, #ids do
  verdicts[i] = some(records[i]) and '1' or '0'
end
if waiting > 0 then
  waiting = waiting - redis.call('ZREM', queue, unpack(ids))
end
serve_queue(nil, 0)
write_grants(nil)
settle(false)
return f(now) .. '|' .. table.concat(verdicts) .. '|' .. tell_waiters(nil)
