-- Gives live tickets a new expiry. A ticket that is gone stays gone, also where a call that was late, or ran twice, has been
-- granted another one under its id: that one has another token.
--
-- KEYS  tickets, free, queue, waiters, meta
-- ARGV  1 limit (and, after a space, a clock: see clock.lua)   2 the caller's inbox channel, which ends in its name
--       3 ttl (ms)   4 the ids, at most 1000   5 their tokens; left out: whatever they are
-- Reply 'head|verdicts|grants', the head as in state.lua: a letter for each id, 1 extended, 0 gone, r revoked; grants as in acquire.lua
-- Cost  O(log n) for each id, expired ticket and grant, and each freed permit

-- include: clock
local giving, verdicts, listed = false, {}, ARGV[4]
-- include: ids
local stored = call('HMGET', meta, 'state', 'limit', unpack(ids, 1, total))
-- include: state records purge

-- Whether a script may run at maxmemory is decided by its first write: this one takes no memory.
call('PEXPIRE', meta, math.ceil(math.max(until_ - now, 0) / 1000 + DAY))

local scores, size, expiry = {}, 0, format('%.0f', now + ARGV[3] * 1000.0)
local known = call('ZMSCORE', tickets, unpack(ids, 1, total))
local next_token = string.gmatch(ARGV[5] or '', '%d+')
for i = 1, total do
  local token, record = next_token(), stored[i + 2]
  if type(known[i]) == 'string' and (not token or match(record, ' (%d+)') == token) then
    verdicts[i] = '1'
    scores[size + 1], scores[size + 2] = expiry, ids[i]
    size = size + 2
  else
    local revoked = call('HGET', meta, 'revoked')
    revoked = type(revoked) == 'string' and string.find(';' .. revoked, ';' .. ids[i] .. ' ', 1, true)
    verdicts[i] = revoked and 'r' or '0'
  end
end
if size > 0 then
  call('ZADD', tickets, unpack(scores))
  renewed = now + ARGV[3] * 1000.0
end
-- include: serve
-- include: write
return head .. '|' .. table.concat(verdicts) .. '|' .. told
