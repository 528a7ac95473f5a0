-- Gives a ticket to another holder: it gets a new id and a new token and keeps its slots.
--
-- 1. Any id that the ticket ever had finds it: its first id is part of all others, and 'info' has
--    its present id.
-- 2. It is written under the new id, and the old id goes.
-- 3. Its holder until now finds it gone, and hears of it by a message.
-- 4. The later call wins; a second run changes nothing.
-- 5. Expired tickets make room, as in every call.
--
-- KEYS  tickets, info, see semaphore.lua
-- ARGV  1 the caller's inbox channel   2 limit   3 ttl (microseconds)   4 label (without spaces, ;
--       or |) 5 not after (microseconds, or '')   6 the new id, which ends in ~ and the ticket's
--       first id
-- Reply see close.lua. The verdict is 'slots token:id until now', '' when the ticket is gone, l
--       when late
-- Cost  O(log n), and that for each expired ticket and grant

-- include: change
local tickets, info, new_id, verdict = KEYS[1], KEYS[2], ARGV[6], ''
local origin = string.match(new_id, '~.*$')
local id = redis.call('HGET', info, origin) or string.sub(origin, 2)
local slots, token, terms = string.match(redis.call('HGET', info, id) or '', '^(%S+) (%S+) %S*(.*)$')
if slots then
  if id ~= new_id then
    redis.call('ZREM', tickets, id)
    redis.call('HDEL', info, id)
    token = next_number(s)
    add(s.fields, new_id, slots .. ' ' .. token .. ' ' .. ARGV[4] .. terms)
    add(s.fields, origin, new_id)
    tell(s.run.inbox, tickets, parts_of(id), id .. ' adopted')
  end
  s.ends = s.now + ARGV[3]
  add(s.adds, text_of(s.ends), new_id)
  verdict = slots .. ' ' .. token .. ':' .. id
end
return now_text .. '|' .. close(s, verdict)
