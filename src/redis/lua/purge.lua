-- Fragment: drops what has expired and knows how many permits are held.
--
-- `top` is the number of slots ever in use at once: slots 0 .. top-1 are held or in `free`, so
-- held = top - ZCARD free, and the lowest free slot is the first of `free`, else `top` itself.
-- A ticket's record in `slots` is 'slots token granted label', its slots written as 0,3,7-9.

-- A script's first write decides whether it may run at maxmemory, so it is one that frees memory.
local lapsed = redis.call('ZREMRANGEBYSCORE', waiters, '-inf', f(now))

local stored = redis.call('HMGET', meta, 'last', 'top', 'held', 'limit')
local last = (some(stored[1]) or 0) * 1.0
local top = (some(stored[2]) or 0) * 1.0
local held = (some(stored[3]) or 0) * 1.0
local limit = (some(stored[4]) or ARGV[2]) * 1.0
local changed = false

-- redis.call with a long argument list, in slices that unpack() can carry. The list has an even length
-- where it holds pairs, and so has a slice.
local function spread(command, key, list)
  for first = 1, #list, 1000 do
    redis.call(command, key, unpack(list, first, math.min(first + 999, #list)))
  end
end

local function each_slot(record, visit)
  for from, to in string.gmatch(string.match(record, '^[^ ]+'), '(%d+)%-?(%d*)') do
    if to == '' then
      visit(from * 1.0)
    else
      for slot = from * 1.0, to * 1.0 do
        visit(slot)
      end
    end
  end
end

-- Labels are kept while their client has a lease as a waiter.
local function forget_clients()
  local gone = {}
  local fields = redis.call('HKEYS', meta)
  for i = 1, #fields do
    local client = string.match(fields[i], '^label%.(.+)$')
    if client and not redis.call('ZSCORE', waiters, client) then
      gone[#gone + 1] = fields[i]
    end
  end
  spread('HDEL', meta, gone)
end

-- Removes the tickets `ids` (at most 1000) and gives their slots back; tells which of them existed.
local function give_back(ids)
  if #ids == 0 then
    return {}
  end
  local records = redis.call('HMGET', slots, unpack(ids))
  local found, freed = {}, {}
  for i = 1, #ids do
    if some(records[i]) then
      found[#found + 1] = ids[i]
      each_slot(records[i], function(slot)
        held = held - 1
        if slot == top - 1 then
          top = slot
        else
          freed[#freed + 1] = f(slot)
          freed[#freed + 1] = f(slot)
        end
      end)
    end
  end
  if #found > 0 then
    changed = true
    redis.call('ZREM', tickets, unpack(found))
    redis.call('HDEL', slots, unpack(found))
    if held == 0 then
      redis.call('DEL', free)
      top = 0.0
    else
      spread('ZADD', free, freed)
    end
  end
  return records
end

-- Makes the keys agree again after one of them was deleted or evicted: a ticket counts only with its record.
local function rebuild()
  local flat, records, live, used = redis.call('HGETALL', slots), {}, {}, {}
  local orphans, strays, gaps = {}, {}, {}
  for i = 1, #flat, 2 do
    records[flat[i]] = flat[i + 1]
  end
  local ids = redis.call('ZRANGE', tickets, 0, -1)
  for i = 1, #ids do
    live[ids[i]] = true
    if not records[ids[i]] then
      orphans[#orphans + 1] = ids[i]
    end
  end
  changed, top, held = true, 0.0, 0.0
  for i = 1, #flat, 2 do
    if not live[flat[i]] then
      strays[#strays + 1] = flat[i]
    else
      last = math.max(last, string.match(flat[i + 1], '^[^ ]+ (%d+)') * 1.0)
      each_slot(flat[i + 1], function(slot)
        used[f(slot)] = true
        held = held + 1
        top = math.max(top, slot + 1)
      end)
    end
  end
  for slot = 0, top - 1 do
    if not used[f(slot)] then
      gaps[#gaps + 1] = f(slot)
      gaps[#gaps + 1] = f(slot)
    end
  end
  spread('ZREM', tickets, orphans)
  spread('HDEL', slots, strays)
  redis.call('DEL', free)
  spread('ZADD', free, gaps)
end

if lapsed > 0 then
  forget_clients()
end
repeat
  local expired = redis.call('ZRANGEBYSCORE', tickets, '-inf', f(now), 'LIMIT', 0, 1000)
  if #expired > 0 and #give_back(expired) > 0 then
    redis.call('ZREM', tickets, unpack(expired))
  end
until #expired < 1000
local count = redis.call('ZCARD', tickets)
if count ~= redis.call('HLEN', slots) or top - redis.call('ZCARD', free) ~= held or (held > 0) ~= (count > 0) then
  rebuild()
end
local waiting = redis.call('ZCARD', queue)
local waited = waiting > 0
