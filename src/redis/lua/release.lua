-- Gives tickets back and withdraws queued requests, by id; what is not there is left alone.
--
-- KEYS  tickets, free, queue, waiters, meta
-- ARGV  1 now (microseconds; '' on a real server)   2 limit   3 start of inbox channels   4 client
--       then ids, at most 1000
-- Reply 'head|verdicts|grants', the head as in state.lua: a digit for each id, 1 was a live ticket, 0 was not; grants as in acquire.lua
-- Cost  O(log n) for each id, expired ticket and grant, and each freed permit

-- include: clock
local from, to, need, giving = 5, #ARGV, math.huge, true
local stored = call('HMGET', meta, 'state', 'limit', unpack(ARGV, 5))
-- include: state

local verdicts, gone = '1', true
if to == 5 then
  gone = dropped ~= nil
  verdicts = gone and '1' or '0'
else
  local digits, seen = {}, {}
  for i = from, to do
    local id = ARGV[i]
    local was = dropped ~= nil and dropped[id] and not seen[id]
    digits[i - 4], seen[id], gone = was and '1' or '0', true, gone and was
  end
  verdicts = table.concat(digits)
end
-- What was a ticket is not in the queue.
if waiting > 0 and not gone then
  local withdrawn = call('ZREM', queue, unpack(ARGV, 5))
  if withdrawn > 0 then
    waiting = waiting - withdrawn
    call('HDEL', meta, unpack(ARGV, 5))
  end
end
-- include: serve
-- include: write
return head .. '|' .. verdicts .. '|' .. told
