-- Gives a ticket to another holder: it gets a new id and a new token and keeps its slots, so that whoever held it
-- before finds it gone. Who presents an id that was adopted before gets the ticket all the same: the later wins.
--
-- KEYS  tickets, free, queue, waiters, meta
-- ARGV  1 now (microseconds; '' on a real server)   2 limit   3 start of inbox channels   4 client
--       5 label (without spaces, ; or |)   6 ttl (ms)   7 the id that is presented
--       8 the new id, which ends in ~ and the ticket's first id   9 not after (microseconds, or '')
-- Reply 'head|slots token|id until now|grants', the head as in state.lua; both empty when the ticket is gone, the first l when late; grants as in acquire.lua
-- Cost  O(log n), and that for each expired ticket and grant; a call that runs twice changes nothing the second time

-- include: clock
local origin = match(ARGV[7], '~(.+)$') or ARGV[7]
local from, to, need, giving, verdicts = 10, 9, math.huge, false, {}
local stored = call('HMGET', meta, 'state', 'limit')
-- include: state

-- In `meta`, the field of ~ and a ticket's first id is the id that it has now. A ticket that has the very id that is
-- presented comes before it.
local TICKET = '^([%d,-]+) (%d+) %d+ '
local current, record, adopted = ARGV[7], call('HGET', meta, ARGV[7]), ''
if type(record) ~= 'string' or not match(record, TICKET) then
  current = call('HGET', meta, '~' .. origin)
  current = type(current) == 'string' and current or origin
  record = call('HGET', meta, current)
end
local late = ARGV[9] ~= '' and now > ARGV[9] * 1.0
local held_slots, token = match(type(record) == 'string' and record or '', TICKET)
if late then
  adopted = 'l'
elseif held_slots then
  renewed = now + ARGV[6] * 1000.0
  call('ZADD', tickets, format('%.0f', renewed), ARGV[8])
  if current ~= ARGV[8] then
    call('ZREM', tickets, current)
    call('HDEL', meta, current)
    last_text = last < now and now_text or format('%.0f', last + 1)
    last, token = last_text * 1.0, last_text
    fields[1], fields[2] = ARGV[8], held_slots .. ' ' .. token .. ' ' .. now_text .. ' ' .. ARGV[5]
    fields[3], fields[4] = '~' .. origin, ARGV[8]
  end
  adopted = held_slots .. ' ' .. token
end
-- include: serve
-- include: write
if #fields > 0 and adopted ~= '' and not late and current ~= ARGV[8] then
  redis.pcall('PUBLISH', ARGV[3] .. match(current, '^[^.]+'), current .. ' adopted')
end
return head .. '|' .. adopted .. '|' .. (adopted ~= '' and not late and current or '') .. '|' .. told
