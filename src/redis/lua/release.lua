-- Gives tickets back and withdraws queued requests, by id; what is not there is left alone.
--
-- KEYS  tickets, free, queue, waiters, meta
-- ARGV  1 now (microseconds; '' on a real server)   2 limit   3 start of inbox channels   4 client
--       then ids, at most 1000
-- Reply 'now|verdicts|grants': a digit for each id, 1 was a live ticket, 0 was not; grants as in acquire.lua
-- Cost  O(log n) for each id, expired ticket and grant, and each freed permit

-- include: clock
local ids, need = { unpack(ARGV, 5, #ARGV) }, math.huge
local stored = call('HMGET', meta, 'state', 'limit', unpack(ids))
local giving = true
-- include: state

local verdicts = {}
for i = 1, #ids do
  verdicts[i], dropped[ids[i]] = dropped[ids[i]] and '1' or '0', nil
end
if waiting > 0 then
  local withdrawn = call('ZREM', queue, unpack(ids))
  if withdrawn > 0 then
    waiting = waiting - withdrawn
    call('HDEL', meta, unpack(ids))
  end
end
-- include: serve
-- include: write
return now_text .. '|' .. table.concat(verdicts) .. '|' .. table.concat(told, ';')
