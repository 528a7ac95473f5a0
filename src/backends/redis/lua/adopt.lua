-- Gives a ticket to another holder: it gets a new id and a new token and keeps its slots.
--
-- 1. Any id that the ticket ever had finds it: the first id is part of all others, and 'info' has
--    the one that it has now.
-- 2. It is written under the new id, and the old id goes.
-- 3. Its holder until now finds it gone, and hears of it by a message.
-- 4. The later call wins; a second run changes nothing.
-- 5. Expired tickets make room, as in every call.
--
-- KEYS  tickets, info, see semaphore.lua
-- ARGV  1 the caller's inbox channel   2 limit   3 ttl (microseconds)   4 label (without spaces, ;
--       or |) 5 not after (microseconds, or '')   6 any id that the ticket has had   7 the new id,
--       which ends in ~ and the ticket's first id
-- Reply see close.lua. The verdict is 'slots token:id until now', '' when the ticket is gone, l
--       when late
-- Cost  O(log n), and that for each expired ticket and grant

-- include: time semaphore close
local tickets, info, id, new_id = KEYS[1], KEYS[2], ARGV[6], ARGV[7]
local origin, late = string.match(id, '~(.+)$') or id, ARGV[5] ~= '' and now_text > ARGV[5]
local s = open(tickets, info, { inbox = ARGV[1], now = now_text, limit = ARGV[2] })
-- A second run finds the new id.
local ids = { new_id, id, redis.call('HGET', info, '~' .. origin) or origin }
local current, slots, token, terms
for i = late and 0 or 3, 1, -1 do
  local record = redis.call('HGET', info, ids[i])
  if ticket_of(record) then
    current, slots, token, terms = ids[i], string.match(record, '^(%S+) (%S+) %S*(.*)$')
  end
end
if current then
  s.ends = s.now + ARGV[3]
  add(s.adds, text_of(s.ends), new_id)
end
if current and current ~= new_id then
  redis.call('ZREM', tickets, current)
  redis.call('HDEL', info, current)
  token = next_number(s)
  add(s.fields, new_id, slots .. ' ' .. token .. ' ' .. ARGV[4] .. terms)
  add(s.fields, '~' .. origin, new_id)
  tell(s.run.inbox, tickets, parts_of(current), current .. ' adopted')
end
return now_text .. '|' .. close(s, late and LATE or current and slots .. ' ' .. token .. ':' .. current or '')
