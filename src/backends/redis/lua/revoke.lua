-- Takes a ticket from its holder, which hears of it by a push, or by the reply to its next
-- extension.
--
-- 1. The ticket is given back, as by a release.
-- 2. Its id is remembered for as long as the ticket could have lived.
-- 3. A second run, and an extension, find it there.
-- 4. Each revocation trims the ids that count no more.
-- 5. The queue is served.
--
-- KEYS  tickets, info, see semaphore.lua
-- ARGV  1 the caller's inbox channel   2 limit   3 id
-- Reply see close.lua. The verdict is 1 if the ticket is revoked, now or before, 0 if there is no
--       ticket
-- Cost  O(log n) for each expired ticket and grant, and in the revoked tickets

-- include: time semaphore close remember
local tickets, info, id, revoked = KEYS[1], KEYS[2], ARGV[3], key_of(KEYS[1], 'revoked')
local s = open(tickets, info, { inbox = ARGV[1], now = now_text, limit = ARGV[2] })
local expiry = redis.call('ZSCORE', tickets, id)
local _, dropped = drop(s, { id })
local is_revoked = dropped > 0 or (redis.call('ZSCORE', revoked, id) or 0) + 0 > s.now
if dropped > 0 then
  tell(s.run.inbox, tickets, parts_of(id), id .. ' revoked')
  remember(revoked, s.now, expiry, id)
end
return now_text .. '|' .. close(s, is_revoked and '1' or '0')
