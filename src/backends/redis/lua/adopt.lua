-- Gives a ticket to another holder: it gets a new id and a new token and keeps its slots, so that its holder until now finds it gone. An id
-- that was adopted before leads to the ticket all the same: the later call wins.
--
-- KEYS  tickets, meta, queue
-- ARGV  1 the caller's inbox channel   2 limit   3 ttl (microseconds)   4 label (without spaces, ; or |)   5 not after (microseconds, or '')
--       6 the id that is presented   7 the new id, which ends in ~ and the ticket's first id
-- Reply 'now|semaphore', the semaphore being 'slots token:id until now', '' when the ticket is gone, l when late; and what slow.lua adds
-- Cost  O(log n), and that for each expired ticket and grant; a call that runs twice changes nothing the second time

-- include: time
local now_text = server_time()
local inbox, now, ttl, label, id, new_id = ARGV[1], now_text + 0, ARGV[3] + 0, ARGV[4], ARGV[6], ARGV[7]
-- include: slow slots serve close
local s = open(KEYS[1], KEYS[2], KEYS[3], ARGV[2])
local late, reply, current, slots, token = ARGV[5] ~= '' and now_text > ARGV[5], '', nil, nil, nil
-- The field of ~ and a ticket's first id is the id that it has now; a ticket that has the very id that is presented comes before it.
-- A call that runs again finds what it did the first time.
local origin = string.match(id, '~(.+)$') or id
for _, one in ipairs(late and {} or { new_id, id, redis.call('HGET', s.meta, '~' .. origin) or origin }) do
  if not slots then
    slots, token = string.match(redis.call('HGET', s.meta, one) or '', '^([%d,-]+) (%d+) ')
    current = one
  end
end
if slots then
  add_ticket(s, new_id, now + ttl)
  s.renews = true
end
if slots and current ~= new_id then
  redis.call('ZREM', s.tickets, current)
  redis.call('HDEL', s.meta, current)
  s.last, s.short = math.max(s.last + 1, now), false
  token = text_of(s.last)
  add_field(s, new_id, slots .. ' ' .. token .. ' ' .. label)
  add_field(s, string.match(new_id, '~.+$'), new_id)
end
serve(s)
reply = close(s, late and 'l' or slots and slots .. ' ' .. token .. ':' .. current or '')
if slots and current ~= new_id then
  tell(s, parts_of(current), current .. ' adopted')
end
return now_text .. '|' .. reply
