-- Gives a ticket to another holder: it gets a new id and a new token and keeps its slots, so that
-- its holder until now finds it gone. The later call wins.
--
-- KEYS  tickets, meta, queue
-- ARGV  1 the caller's inbox channel   2 limit   3 ttl (microseconds)   4 label (without spaces, ;
--       or |) 5 not after (microseconds, or '')   6 any id that the ticket has had   7 the new id,
--       which ends in ~ and the ticket's first id
-- Reply see close.lua. The verdict is 'slots token:id until now', '' when the ticket is gone, l
--       when late
-- Cost  O(log n), and that for each expired ticket and grant; a second run changes nothing

-- include: time semaphore serve close
-- The first of the ids that is a ticket, its slots and token.
local function find(meta, ids)
  for i = 1, #ids do
    local _, slots, token = ticket_of(redis.call('HGET', meta, ids[i]))
    if slots then
      return ids[i], slots, token
    end
  end
end

local tickets, meta, id, new_id = KEYS[1], KEYS[2], ARGV[6], ARGV[7]
local origin, late = string.match(id, '~(.+)$') or id, ARGV[5] ~= '' and now_text > ARGV[5]
-- A call that runs again finds what it did the first time.
local ids = { new_id, id, redis.call('HGET', meta, '~' .. origin) or origin }
local s = open(tickets, meta, KEYS[3], { inbox = ARGV[1], now = now_text, limit = ARGV[2] }, ids)
local current, slots, token = find(meta, late and {} or ids)
local is_new = current and current ~= new_id
if current then
  s.ends = s.now + ARGV[3]
  add(s.adds, text_of(s.ends), new_id)
end
if is_new then
  redis.call('ZREM', tickets, current)
  redis.call('HDEL', meta, current)
  s.short, token = false, next_number(s)
  add(s.fields, new_id, slots .. ' ' .. token .. ' ' .. ARGV[4])
  add(s.fields, '~' .. origin, new_id)
end
serve(s)
local reply = close(s, late and 'l' or current and slots .. ' ' .. token .. ':' .. current or '')
if is_new then
  tell(s.run.inbox, meta, parts_of(current), current .. ' adopted')
end
return now_text .. '|' .. reply
