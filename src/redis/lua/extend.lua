-- Gives live tickets a new expiry. A ticket that is gone stays gone.
--
-- KEYS  tickets, free, queue, waiters, meta
-- ARGV  1 now (microseconds; '' on a real server)   2 limit   3 start of inbox channels   4 client
--       5 ttl (ms)   then ids, at most 1000
-- Reply 'head|verdicts|grants', the head as in state.lua: a letter for each id, 1 extended, 0 gone, r revoked; grants as in acquire.lua
-- Cost  O(log n) for each id, expired ticket and grant, and each freed permit

-- include: clock
local from, to, need, giving, verdicts = 6, 5, 0, false, {}
local stored = call('HMGET', meta, 'state', 'limit')
-- include: state

-- Whether a script may run at maxmemory is decided by its first write: this one takes no memory.
call('PEXPIRE', meta, math.ceil(math.max(until_ - now, 0) / 1000 + DAY))

local scores, expiry = {}, format('%.0f', now + ARGV[5] * 1000.0)
local known = call('ZMSCORE', tickets, unpack(ARGV, 6))
for i = 6, #ARGV do
  if type(known[i - 5]) == 'string' then
    verdicts[i - 5] = '1'
    scores[#scores + 1] = expiry
    scores[#scores + 1] = ARGV[i]
  else
    local revoked = call('HGET', meta, 'revoked')
    revoked = type(revoked) == 'string' and string.find(';' .. revoked, ';' .. ARGV[i] .. ' ', 1, true)
    verdicts[i - 5] = revoked and 'r' or '0'
  end
end
if #scores > 0 then
  call('ZADD', tickets, unpack(scores))
  renewed = now + ARGV[5] * 1000.0
end
-- include: serve
-- include: write
return head .. '|' .. table.concat(verdicts) .. '|' .. told
