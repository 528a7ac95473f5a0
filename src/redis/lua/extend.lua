-- Gives live tickets a new expiry. A ticket that is gone stays gone.
--
-- KEYS  tickets, free, queue, waiters, meta
-- ARGV  1 now (microseconds; '' on a real server)   2 limit   3 start of inbox channels   4 client
--       5 ttl (ms)   then ids, at most 1000
-- Reply 'now|verdicts|grants': a digit for each id, 1 extended, 0 gone; grants as in acquire.lua
-- Cost  O(log n) for each id, expired ticket and grant, and each freed permit

-- include: clock
local ids, need = {}, 0
local stored = call('HMGET', meta, 'state', 'limit')
local giving = false
-- include: state

-- As in acquire.lua: the first write must take no memory.
call('PEXPIRE', meta, meta_life)

local verdicts, scores, expiry = {}, {}, format('%.0f', now + ARGV[5] * 1000.0)
local known = call('ZMSCORE', tickets, unpack(ARGV, 6, #ARGV))
for i = 6, #ARGV do
  if type(known[i - 5]) == 'string' then
    verdicts[i - 5] = '1'
    scores[#scores + 1] = expiry
    scores[#scores + 1] = ARGV[i]
  else
    verdicts[i - 5] = '0'
  end
end
if #scores > 0 then
  call('ZADD', tickets, unpack(scores))
  renewed = now + ARGV[5] * 1000.0
end
-- include: serve
-- include: write
return now_text .. '|' .. table.concat(verdicts) .. '|' .. table.concat(told, ';')
