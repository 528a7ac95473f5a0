-- Takes a ticket from its holder, which hears of it by a push, or by the reply to its next extension.
--
-- KEYS  tickets, meta, queue
-- ARGV  1 the caller's inbox channel   2 limit   3 id
-- Reply 'now|semaphore', the semaphore being 1 where it is revoked, now or before, 0 where there is none; and what slow.lua adds
-- Cost  O(log n) for each expired ticket and grant

-- include: time
local now_text = server_time()
local inbox, now, id = ARGV[1], now_text + 0, ARGV[3]
-- include: slow slots serve close
local s = open(KEYS[1], KEYS[2], KEYS[3], ARGV[2])
redis.call('HDEL', s.meta, '')
local known = ''
if not redis.call('HGET', s.meta, id) and lacks_record(s, { id }, {}) then
  recount(s)
end
-- 'revoked' is 'id expiry;…': until a ticket would have expired its holder may ask what became of it.
for entry, gone in string.gmatch(redis.call('HGET', s.meta, 'revoked') or '', '(%S+ (%d+);)') do
  known = gone + 0 > now and known .. entry or known
end
local expiry, verdict = redis.call('ZSCORE', s.tickets, id), '0'
local _, dropped = drop(s, { id }, { redis.call('HGET', s.meta, id) })
if dropped > 0 then
  s.short, verdict = false, '1'
  add_field(s, 'revoked', known .. id .. ' ' .. text_of(expiry) .. ';')
  tell(s, parts_of(id), id .. ' revoked')
elseif string.find(';' .. known, ';' .. id .. ' ', 1, true) then
  verdict = '1'
end
serve(s)
return now_text .. '|' .. close(s, verdict)
