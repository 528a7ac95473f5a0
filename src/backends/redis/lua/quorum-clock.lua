-- Fragment: the keys of a semaphore on one master of a quorum, its time, and what it holds; drops what has expired.
--
-- `qslots` is a sorted set, slot -> expiry (microseconds). In `qmeta`: slot -> id of the ticket that has it; id ->
-- 'slots token attempt granted label' with slots as in 0,3,7; 'last' -> the highest token given or heard of; 'limit' -> that
-- of the last caller; 'sets' -> see quorum-set. A slot is held where both keys say so: losing either of them loses the tickets, no more.
-- Ids have a dot and slots are digits, so that fields never collide.
local slots, meta = KEYS[1], KEYS[2]
local call, format, match, gmatch = redis.call, string.format, string.match, string.gmatch
local time = call('TIME')
-- As in clock.lua.
if type(time[2]) ~= 'string' then
  return redis.error_reply('REDSEM_TIME a ' .. type(time[2]))
end
local now_text = format('%s%06d', time[1], time[2])
local now = now_text * 1.0
if now < 1577836800000000.0 then
  return redis.error_reply('REDSEM_TIME ' .. now_text)
end
local DAY, GRACE = 86400000.0, 1000000.0

local function find(id)
  local record = call('HGET', meta, id)
  if not record then
    return nil
  end
  local list, token, attempt, granted, label = match(record, '^([%d,]+) (%d+) (%d+) (%d+) (.*)$')
  return { id = id, slots = list, token = token, attempt = attempt * 1.0, granted = granted, label = label }
end

local function clear(ticket)
  for slot in gmatch(ticket.slots, '%d+') do
    if call('HGET', meta, slot) == ticket.id then
      call('ZREM', slots, slot)
      call('HDEL', meta, slot)
    end
  end
  call('HDEL', meta, ticket.id)
end

-- Only with all of its slots is a ticket what it was.
local function find_live(id)
  local ticket = find(id)
  if not ticket then
    return nil
  end
  for slot in gmatch(ticket.slots, '%d+') do
    if call('HGET', meta, slot) ~= id or not call('ZSCORE', slots, slot) then
      clear(ticket)
      return nil
    end
  end
  return ticket
end

local last_text = call('HGET', meta, 'last') or '0'
local last = last_text * 1.0
if last == 0 and call('ZCARD', slots) > 0 then
  call('DEL', slots)
end
repeat
  local expired = call('ZRANGEBYSCORE', slots, '-inf', now_text, 'LIMIT', '0', '1000')
  for i = 1, #expired do
    local id = call('HGET', meta, expired[i])
    local ticket = id and find(id)
    if ticket then
      clear(ticket)
    end
    call('HDEL', meta, expired[i])
    call('ZREM', slots, expired[i])
  end
until #expired < 1000
