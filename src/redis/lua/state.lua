-- Fragment: what the last call knew; drops what has expired.
--
-- In `meta`: 'state' is 'last top held count waiting until'. `last`: the last fencing token or arrival number. `top`: how
-- many slots were ever in use at once: slots 0 .. top-1 are held or in `free`, so held = top - ZCARD free, and
-- the lowest free slot is the first of `free`, else `top` itself. `count`: tickets. `waiting`: requests in `queue`. No key
-- is needed after `until`. 'limit' is what setLimit stored. The field of a ticket's id is 'slots token granted label',
-- its slots written as 0,3,7-9; that of a waiting request's id is its label.
--
-- Before it: `ids`, `stored` (state, limit and the fields of `ids`), `need` (permits that one request may ask for),
-- `giving` (whether tickets among `ids` are given back).
-- An entry that a key does not have is false, and a JavaScript null in ioredis-mock: hence type(…) == 'string'.

-- How long a process's queued requests count without a sign of life from it, how long a granted ticket lives
-- until its waiter claims it, and how much longer than its last ticket a key may stay (microseconds).
local WAITER_LEASE, CLAIM_TIME, GRACE = 5000000.0, 2000000.0, 1000000.0

local client = ARGV[4]
local limit = (type(stored[2]) == 'string' and stored[2] or ARGV[2]) * 1.0
local last, top, held, count, waiting, until_ = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
local known_state = type(stored[1]) == 'string'
if known_state then
  last, top, held, count, waiting, until_ = match(stored[1], '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
  last, top, held = last * 1.0, top * 1.0, held * 1.0
  count, waiting, until_ = count * 1.0, waiting * 1.0, until_ * 1.0
end

-- `meta` goes a day after the last call that granted or extended; where tickets may live for long, a day after them.
local meta_life = '86400000'
if until_ - now > 3600000000 then
  meta_life = format('%.0f', (until_ - now) / 1000 + 86400000)
end

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
      for from, to in string.gmatch(held_slots, '(%d+)%-?(%d*)') do
        for slot = from * 1.0, (to == '' and from or to) * 1.0 do
          used[slot], held, top = true, held + 1, math.max(top, slot + 1)
        end
      end
    elseif id ~= 'state' and id ~= 'limit' and id ~= 'layout' and not call('ZSCORE', queue, id) then
      call('HDEL', meta, id)
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
    until_ = math.max(until_, now + WAITER_LEASE + GRACE)
  end
  for i = 1, 4 do
    call('PEXPIRE', KEYS[i], format('%.0f', math.max(until_ - now, 0) / 1000))
  end
  stored = call('HMGET', meta, 'state', 'limit', unpack(ids))
end

-- Drops what has expired and then, where `giving`, the tickets among `ids`: their slots are free again. Afterwards
-- `expired` and `dropped` have the ids that were there.
local expired, dropped, list = {}, {}, nil
repeat
  local records, at = stored, 2
  list = call('ZRANGEBYSCORE', tickets, '-inf', now_text, 'LIMIT', 0, 1000)
  local expiring = #list > 0
  if expiring then
    records, at = call('HMGET', meta, unpack(list)), 0
  elseif giving then
    list, giving = ids, false
  end
  local found, freed, reusable = {}, {}, top > held
  for i = 1, #list do
    local id, record = list[i], records[at + i]
    if type(record) == 'string' and not expired[id] and not dropped[id] then
      local slot, several = match(record, '^(%d+) '), nil
      if slot then
        freed[#freed + 1] = slot
        freed[#freed + 1] = slot
      else
        several = match(record, '^[%d,-]+ ')
        for from, to in string.gmatch(several or '', '(%d+)%-?(%d*)') do
          for part = from * 1.0, (to == '' and from or to) * 1.0 do
            freed[#freed + 1] = format('%.0f', part)
            freed[#freed + 1] = freed[#freed]
          end
        end
      end
      if slot or several then
        found[#found + 1] = id
        if expiring then
          expired[id] = true
        else
          dropped[id] = true
        end
      end
    end
  end
  if expiring then
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
      for from = 1, #freed, 4000 do
        call('ZADD', free, unpack(freed, from, math.min(from + 3999, #freed)))
      end
      if not reusable then
        call('PEXPIRE', free, format('%.0f', (until_ - now) / 1000))
      end
    end
  end
until #list == 0 or (not expiring and not giving)

-- What this call grants, by place; `own`: the requests of this call, which live for `ttl` from the start.
local new_ids, new_permits, new_expiries, new_labels = {}, {}, {}, {}
local granted, wanted, blocked, waited, own, ttl = 0, 0, false, waiting > 0, {}, 0
-- Fields of `meta` to write, and the latest expiry among what else was written.
local fields, renewed = {}, 0
