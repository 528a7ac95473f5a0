-- Fragment: counts anew where the state cannot be right, and drops what has expired.
--
-- Before it: `ids`, `total` of them, `stored` (state, limit and the fields of those ids), `giving` (whether the tickets among
-- the ids are given back). Most calls find little to do, so tables are made where something goes into them.

-- Do the keys still say the same? One may have been deleted or evicted, or have expired
-- after its last ticket. A ticket counts only with its record, and the other way round.
local doubtful = not known_state or (count + waiting > 0 and until_ <= now) or (gaps > 0 and call('ZCARD', free) ~= gaps)
if doubtful or call('ZCARD', tickets) ~= count then
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
  gaps = 0.0
  local first
  for slot = 0.0, top do
    if slot < top and not used[slot] then
      first = first or slot
    elseif first then
      gaps = gaps + call('ZADD', free, format('%.0f', first), format('%.0f-%.0f', first, slot - 1))
      first = nil
    end
  end
  waiting = call('ZCARD', queue) * 1.0
  if waiting > 0 then
    last = math.max(last, call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] * 1.0)
    until_ = math.max(until_, now + WAITER_LEASE + GRACE)
  end
  last_text, until_text = format('%.0f', last), format('%.0f', until_)
  for i = 1, 5 do
    -- Not at once, for what has expired is still to be dropped below; nor after a millisecond: a server that was just then
    -- kept from running for so long finds that time over, and deletes the key.
    call('PEXPIRE', KEYS[i], format('%.0f', math.max(until_ - now, GRACE) / 1000 + (i == 5 and DAY or 0)))
  end
  stored = call('HMGET', meta, 'state', 'limit', unpack(ids, 1, total))
end

-- Drops what has expired and then, where `giving`, the tickets among the ids: their slots are free again. Afterwards
-- `expired` has the ids that had expired, if any, `released` is how many tickets were given back and `dropped` has them where
-- several were to be; `strays` whether tickets without a record were dropped; `firsts` has the first slots of the `spare` ranges that came free, in order if `ordered`, and
-- `finals` their last slots by first.
local expired, dropped, released = nil, nil, 0
local firsts, finals, spare, ordered = nil, nil, 0, true
local strays, purging = false, count > 0 and call('ZCOUNT', tickets, '-inf', now_text) > 0
while purging or giving do
  -- The records of those in the list stand at records[at + i].
  local list, size, records, at = ids, total, stored, 2
  if purging then
    list = call('ZRANGEBYSCORE', tickets, '-inf', now_text, 'LIMIT', '0', '1000')
    size, records, at = #list, #list > 0 and call('HMGET', meta, unpack(list)), 0
    expired = expired or {}
  elseif size > 1 then
    dropped = {}
  end
  -- Those found; no table of their own while they are all of the list.
  local found, hits, adopted_ids = nil, 0, purging or string.find(listed, '~', 1, true)
  for i = 1, size do
    local id, record = list[i], records[at + i]
    local first, final, mark, after
    if type(record) == 'string' and not (expired and expired[id]) and not (dropped and dropped[id]) then
      first, final = match(record, '^(%d+) '), ''
      if not first then
        first, final, mark, after = match(record, '^(%d+)%-?(%d*)([, ])()')
      end
    end
    if first then
      hits = hits + 1
      if found then
        found[hits] = id
      end
      if adopted_ids and string.find(id, '~', 1, true) then
        call('HDEL', meta, match(id, '~.+$'))
      end
      if purging then
        expired[id] = true
      elseif dropped then
        dropped[id] = true
      end
    elseif not found then
      found = { unpack(list, 1, hits) }
    end
    while first do
      first = first * 1.0
      final = final == '' and first or final * 1.0
      held = held - (final - first + 1)
      if spare == 0 then
        spare, firsts, finals = 1, { first }, { [first] = final }
      elseif finals[firsts[spare]] + 1 == first then
        finals[firsts[spare]] = final
      else
        ordered = ordered and firsts[spare] < first
        spare = spare + 1
        firsts[spare], finals[first] = first, final
      end
      first = nil
      if mark == ',' then
        first, final, mark, after = match(record, '^(%d+)%-?(%d*)([, ])()', after)
      end
    end
  end
  if purging and size > 0 then
    -- Also those without a record, which were counted.
    call('ZREM', tickets, unpack(list))
    strays = strays or hits < size
  elseif hits > 0 then
    call('ZREM', tickets, unpack(found or list, 1, hits))
  end
  if hits > 0 then
    call('HDEL', meta, unpack(found or list, 1, hits))
    count = count - hits
  end
  released = purging and 0 or hits
  giving = purging and giving
  purging = purging and size == 1000
end
if count + released + waiting == 0 and string.find(head, ' other ', 1, true) then
  -- All had expired: nobody has another limit.
  head = now_text
end

-- What this call grants: ids, how many permits if not one each, labels if not `label`, and the places among the requests
-- of this call; others' requests have none and get the claim time, those of this call live for `ttl` from the start and
-- are in `own` by id.
local granted, grant_ids, weights, labels, places, label = 0, nil, nil, nil, nil, nil
local wanted, blocked, waited, own, ttl = 0, false, waiting > 0, nil, 0
-- Fields of `meta` to write, the latest expiry among what else was written, and whether `queue` or `waiters` may be new.
local fields, filled, renewed, queued = nil, 0, 0, false
