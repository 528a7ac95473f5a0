-- Gives a ticket to another holder: it gets a new id and a new token and keeps its slots, so that whoever held it
-- before finds it gone. Who presents an id that was adopted before gets the ticket all the same: the later wins.
--
-- KEYS  tickets, free, queue, waiters, meta
-- ARGV  1 limit (and, after a space, a clock: see clock.lua)   2 the caller's inbox channel, which ends in its name
--       3 label (without spaces, ; or |)   4 ttl (ms)   5 the id that is presented
--       6 the new id, which ends in ~ and the ticket's first id   7 not after (microseconds, or '')
-- Reply 'head|slots token|id until now|grants', the head as in state.lua; both empty when the ticket is gone, the first l when late; grants as in acquire.lua
-- Cost  O(log n), and that for each expired ticket and grant; a call that runs twice changes nothing the second time

-- include: clock
local origin = match(ARGV[5], '~(.+)$') or ARGV[5]
local ids, total, giving, verdicts, listed = {}, 0, false, {}, ''
local stored = call('HMGET', meta, 'state', 'limit')
-- include: state purge

-- In `meta`, the field of ~ and a ticket's first id is the id that it has now. A ticket that has the very id that is
-- presented comes before it.
local TICKET = '^([%d,-]+) (%d+) %d+ '
-- A call that runs again finds what it did the first time.
local current, record, adopted = ARGV[6], call('HGET', meta, ARGV[6]), ''
if type(record) ~= 'string' then
  current, record = ARGV[5], call('HGET', meta, ARGV[5])
end
if type(record) ~= 'string' or not match(record, TICKET) then
  current = call('HGET', meta, '~' .. origin)
  current = type(current) == 'string' and current or origin
  record = call('HGET', meta, current)
end
local late = ARGV[7] ~= '' and now > ARGV[7] * 1.0
local held_slots, token = match(type(record) == 'string' and record or '', TICKET)
if late then
  adopted = 'l'
elseif held_slots then
  renewed = now + ARGV[4] * 1000.0
  call('ZADD', tickets, format('%.0f', renewed), ARGV[6])
  if current ~= ARGV[6] then
    call('ZREM', tickets, current)
    call('HDEL', meta, current)
    last_text = last < now and now_text or format('%.0f', last + 1)
    last, token = last_text * 1.0, last_text
    fields = { ARGV[6], held_slots .. ' ' .. token .. ' ' .. now_text .. ' ' .. ARGV[3], '~' .. origin, ARGV[6] }
    filled = 4
  end
  adopted = held_slots .. ' ' .. token
end
-- include: serve
-- include: write
if filled > 0 and adopted ~= '' and not late and current ~= ARGV[6] then
  local source = '|' .. match(meta, '{([^{}]*)}[^{}]*$')
  redis.pcall('PUBLISH', match(ARGV[2], '^.*:') .. match(current, '^[^.]+'), current .. ' adopted' .. source)
end
return head .. '|' .. adopted .. '|' .. (adopted ~= '' and not late and current or '') .. '|' .. told
