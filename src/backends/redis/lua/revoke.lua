-- Takes a ticket from its holder, which hears of it by a push, or by the reply to its next
-- extension.
--
-- 1. The ticket is given back, as by a release.
-- 2. The key 'revoked:' and its id stays for as long as the ticket could have lived.
-- 3. A second run, and an extension, find it there.
-- 4. The queue is served.
--
-- KEYS  tickets, info, see semaphore.lua
-- ARGV  1 the caller's inbox channel   2 limit   3 id   4 and 5 ''
-- Reply see close.lua. The verdict is 1 if the ticket is revoked, now or before, 0 if there is no
--       ticket
-- Cost  O(log n) for each expired ticket and grant

-- include: change
local tickets, id, revoked = KEYS[1], ARGV[3], key_of(KEYS[1], 'revoked:' .. ARGV[3])
local expiry = redis.call('ZSCORE', tickets, id)
local _, dropped = drop(s, { id })
if dropped > 0 then
  tell(s.run.inbox, tickets, parts_of(id), id .. ' revoked')
  redis.call('ZADD', revoked, expiry, SIGN)
  redis.call('PEXPIRE', revoked, text_of(math.ceil((expiry - s.now) / 1000) + 60000))
end
return now_text .. '|' .. close(s, text_of(redis.call('ZCOUNT', revoked, '(' .. now_text, '+inf')))
