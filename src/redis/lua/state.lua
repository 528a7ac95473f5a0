-- Fragment: what the last call knew; drops what has expired.
--
-- In `meta`: 'state' is 'last top held count waiting until limit'. `last`: the last fencing token or arrival number. `top`:
-- how many slots were ever in use at once: slots 0 .. top-1 are held or in `free`, so held = top - ZCARD free, and
-- the lowest free slot is the first of `free`, else `top` itself. `count`: tickets. `waiting`: requests in `queue`. No key
-- is needed after `until`, `meta` a day longer. `limit`: that of the last caller. The field 'limit' is what setLimit stored.
-- The field of a ticket's id is 'slots token granted label', its slots written as 0,3,7-9; that of a waiting request's id
-- is its label.
--
-- Before it: `from`, `to` (where ids stand in ARGV), `stored` (state, limit and the fields of those ids), `need` (permits
-- that one request may ask for), `giving` (whether the tickets among the ids are given back).
-- An entry that a key does not have is false, and a JavaScript null in ioredis-mock: hence type(…) == 'string'. Most
-- calls find little to do, so tables are made where something goes into them.

-- How long a process's queued requests count without a sign of life from it, how long a granted ticket lives
-- until its waiter claims it, and how much longer than its last ticket a key may stay (microseconds).
local WAITER_LEASE, CLAIM_TIME, GRACE, DAY = 5000000.0, 2000000.0, 1000000.0, 86400000.0

local client = ARGV[4]
local last, top, held, count, waiting, until_ = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
local last_text, until_text, configured, known_state = nil, nil, nil, type(stored[1]) == 'string'
if known_state then
  last_text, top, held, count, waiting, until_text, configured =
    match(stored[1], '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
  known_state = last_text ~= nil
end
if not known_state then
  -- Also when something else wrote it: all is then counted anew.
  last_text, top, held, count, waiting, until_text, configured = '0', 0.0, 0.0, 0.0, 0.0, '0', ''
else
  last, top, held, count = last_text * 1.0, top * 1.0, held * 1.0, count * 1.0
  waiting, until_ = waiting * 1.0, until_text * 1.0
end

-- What the caller is told of the limit where its own is not the one that counts, or not the only one.
local limit, head = ARGV[2], now_text
if type(stored[2]) == 'string' then
  limit = stored[2]
  head = limit ~= ARGV[2] and now_text .. ' stored ' .. limit or head
elseif configured ~= limit and count + waiting > 0 then
  head = now_text .. ' other ' .. configured
end
limit = limit * 1.0

-- Before anything is refused: do the keys still say the same? One may have been deleted or evicted, or have expired
-- after its last ticket. A ticket counts only with its record, and the other way round.
local doubtful = not known_state or (count > 0 and until_ <= now) or (top > held and call('ZCARD', free) ~= top - held)
if doubtful or ((waiting > 0 or held + need > limit) and call('ZCARD', tickets) ~= count) then
  local fields, live, used = call('HGETALL', meta), {}, {}
  local scores = call('ZRANGE', tickets, 0, -1, 'WITHSCORES')
  top, held, count, until_ = 0.0, 0.0, 0.0, 0.0
  for i = 1, #scores, 2 do
    live[scores[i]] = scores[i + 1] * 1.0
  end
  for i = 1, #fields, 2 do
    local id, held_slots, token = fields[i], match(fields[i + 1], '^([%d,-]+) (%d+) %d+ ')
    if held_slots and id ~= 'state' and live[id] then
      count, until_, last = count + 1, math.max(until_, live[id] + GRACE), math.max(last, token * 1.0)
      live[id] = nil
      for first, final in string.gmatch(held_slots, '(%d+)%-?(%d*)') do
        for slot = first * 1.0, (final == '' and first or final) * 1.0 do
          used[slot], held, top = true, held + 1, math.max(top, slot + 1)
        end
      end
    elseif string.find(id, '.', 1, true) then
      -- Of tickets and requests, not of the semaphore.
      local key, member = queue, id
      if string.sub(id, 1, 1) == '~' then
        key, member = tickets, fields[i + 1]
      end
      if type(call('ZSCORE', key, member)) ~= 'string' then
        call('HDEL', meta, id)
      end
    end
  end
  for id in pairs(live) do
    call('ZREM', tickets, id)
  end
  call('DEL', free)
  for slot = 0.0, top - 1 do
    if not used[slot] then
      call('ZADD', free, format('%.0f', slot), format('%.0f', slot))
    end
  end
  waiting = call('ZCARD', queue) * 1.0
  if waiting > 0 then
    last = math.max(last, call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] * 1.0)
    until_ = math.max(until_, now + WAITER_LEASE + GRACE)
  end
  last_text, until_text = format('%.0f', last), format('%.0f', until_)
  for i = 1, 5 do
    -- Not at once: what has expired is still to be dropped below.
    call('PEXPIRE', KEYS[i], format('%.0f', math.max(until_ - now, 1000) / 1000 + (i == 5 and DAY or 0)))
  end
  stored = call('HMGET', meta, 'state', 'limit', unpack(ARGV, from, to))
end

-- Drops what has expired and then, where `giving`, the tickets among the ids: their slots are free again. Afterwards
-- `expired` and `dropped` have the ids that were there, if any.
local expired, dropped
local purging = count > 0 and call('ZCOUNT', tickets, '-inf', now_text) > 0
while purging or giving do
  -- Ids stand at list[shift + i], their records at records[at + i].
  local list, shift, size, records, at = ARGV, from - 1, to - from + 1, stored, 2
  if purging then
    list, shift = call('ZRANGEBYSCORE', tickets, '-inf', now_text, 'LIMIT', '0', '1000'), 0
    size, records, at = #list, #list > 0 and call('HMGET', meta, unpack(list)), 0
  end
  local found, freed, reusable = {}, {}, top > held
  for i = 1, size do
    local id, record = list[shift + i], records[at + i]
    if type(record) == 'string' and not (expired and expired[id]) and not (dropped and dropped[id]) then
      local slot, several = match(record, '^(%d+) '), nil
      if slot then
        freed[#freed + 1] = slot
        freed[#freed + 1] = slot
      else
        several = match(record, '^[%d,-]+ ')
        for first, final in string.gmatch(several or '', '(%d+)%-?(%d*)') do
          for part = first * 1.0, (final == '' and first or final) * 1.0 do
            freed[#freed + 1] = format('%.0f', part)
            freed[#freed + 1] = freed[#freed]
          end
        end
      end
      if slot or several then
        found[#found + 1] = id
        if string.find(id, '~', 1, true) then
          call('HDEL', meta, match(id, '~.+$'))
        end
        if purging then
          expired = expired or {}
          expired[id] = true
        else
          dropped = dropped or {}
          dropped[id] = true
        end
      end
    end
  end
  if purging and size > 0 then
    -- Also those without a record.
    call('ZREM', tickets, unpack(list))
  elseif #found > 0 then
    call('ZREM', tickets, unpack(found))
  end
  if #found > 0 then
    call('HDEL', meta, unpack(found))
    held, count = held - #freed / 2, count - #found
    if held == 0 then
      top = 0.0
      if reusable then
        call('DEL', free)
      end
    elseif #freed == 2 and freed[1] * 1.0 == top - 1 then
      top = top - 1
    else
      for first = 1, #freed, 4000 do
        call('ZADD', free, unpack(freed, first, math.min(first + 3999, #freed)))
      end
      if not reusable then
        call('PEXPIRE', free, math.ceil((until_ - now) / 1000))
      end
    end
  end
  giving = purging and giving
  purging = purging and size == 1000
end

-- What this call grants: { id, permits, label, place }. `place` is that among the requests of this call, nil for others'
-- requests, which get the claim time; those of this call live for `ttl` from the start and are in `own` by id.
local grants, granted, wanted, blocked, waited, own, ttl = {}, 0, 0, false, waiting > 0, nil, 0
-- Fields of `meta` to write, the latest expiry among what else was written, and whether `queue` or `waiters` may be new.
local fields, renewed, queued = {}, 0, false
