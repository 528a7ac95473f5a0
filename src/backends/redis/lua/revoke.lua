-- Takes a ticket from its holder, which hears of it by a push, or by the reply to its next
-- extension.
--
-- KEYS  tickets, meta, queue
-- ARGV  1 the caller's inbox channel   2 limit   3 id
-- Reply see close.lua. The verdict is 1 where the ticket is revoked, now or before, 0 where there
--       is none
-- Cost  O(log n) for each expired ticket and grant, and in the revoked tickets

-- include: time semaphore serve close remember
local meta, id, revoked = KEYS[2], ARGV[3], key_beside(KEYS[1], 'revoked')
local s = open(KEYS[1], meta, KEYS[3], { inbox = ARGV[1], now = now_text, limit = ARGV[2] }, { id })
redis.call('HDEL', meta, '')
-- Until a ticket would have expired its holder may ask what became of it.
local verdict, expiry = remembered(revoked, id, s.now) and '1' or '0', redis.call('ZSCORE', s.tickets, id)
local gone, dropped = drop_by_id(s, { id })
if dropped > 0 then
  verdict = '1'
  tell(s.run.inbox, meta, parts_of(id), id .. ' revoked')
else
  find_lost(s, { id }, gone)
end
serve(s)
local reply = close(s, verdict)
if dropped > 0 then
  remember(revoked, s.now, expiry, id)
end
return now_text .. '|' .. reply
