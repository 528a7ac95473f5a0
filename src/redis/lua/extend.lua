-- include: clock purge grant
-- Gives live tickets a new expiry. A ticket that is gone stays gone.
--
-- KEYS  tickets, slots, free, queue, waiters, meta
-- ARGV  1 now (microseconds; '' on a real server)   2 limit   3 start of inbox channels   4 client
--       5 ttl (ms)   then ids, at most 1000
-- Reply 'now|verdicts|grants': a digit for each id, 1 extended, 0 gone; grants as in acquire.lua
-- Cost  O(log n) for each id, expired ticket and grant

local verdicts, scores = {}, {}
local known = redis.call('ZMSCORE', tickets, unpack(ARGV, 6, #ARGV))
for i = 6, #ARGV do
  if some(known[i - 5]) then
    verdicts[i - 5] = '1'
    scores[#scores + 1] = f(now + ARGV[5] * 1000.0)
    scores[#scores + 1] = ARGV[i]
  else
    verdicts[i - 5] = '0'
  end
end
spread('ZADD', tickets, scores)
serve_queue(nil, 0)
write_grants(nil)
settle(#scores > 0)
return f(now) .. '|' .. table.concat(verdicts) .. '|' .. tell_waiters(nil)
