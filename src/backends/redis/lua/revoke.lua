-- Takes a ticket from its holder, which hears of it by a push, or by the reply to its next
-- extension.
--
-- KEYS  tickets, meta, queue
-- ARGV  1 the caller's inbox channel   2 limit   3 id
-- Reply see close.lua. The verdict is 1 where the ticket is revoked, now or before, 0 where there
--       is none
-- Cost  O(log n) for each expired ticket and grant

-- include: time semaphore serve close
local meta, id, known = KEYS[2], ARGV[3], ''
local s = open(KEYS[1], meta, KEYS[3], { inbox = ARGV[1], now = now_text, limit = ARGV[2] }, { id })
redis.call('HDEL', meta, '')
-- 'revoked' is 'id expiry;…': until a ticket would have expired its holder may ask what became of
-- it.
for entry, expiry in string.gmatch(redis.call('HGET', meta, 'revoked') or '', '(%S+ (%d+);)') do
  known = expiry + 0 > s.now and known .. entry or known
end
local expiry, verdict = redis.call('ZSCORE', s.tickets, id), '0'
local gone, dropped = drop_by_id(s, { id })
if dropped > 0 then
  s.short, verdict = false, '1'
  add(s.fields, 'revoked', known .. id .. ' ' .. text_of(expiry) .. ';')
  tell(s.run.inbox, meta, parts_of(id), id .. ' revoked')
else
  find_lost(s, { id }, gone)
  verdict = string.find(';' .. known, ';' .. id .. ' ', 1, true) and '1' or '0'
end
serve(s)
return now_text .. '|' .. close(s, verdict)
