-- Fragment of acquire.lua: requests of one semaphore, some of which may be known already.

local function list_of(text)
  return text == '' and {} or cjson.decode(text)
end

-- What a text asks for, see acquire.lua.
local function parse(text)
  local sign = string.byte(text)
  if sign ~= 91 then
    local id, kind = sign == 63 and string.sub(text, 2) or text, sign == 63 and 't' or 'w'
    return { ids = { id }, kinds = kind, places = {}, orders = {}, most = '', rate = '' }
  end
  local ids, kinds, places, orders, most, rate =
    string.match(text, '^([^|]*)|?([^|]*)|?([^|]*)|?([^|]*)|?([^|]*)|?(.*)$')
  local asked = { ids = cjson.decode(ids), kinds = kinds, most = most, rate = rate }
  asked.places, asked.orders = list_of(places), list_of(orders)
  return asked
end

-- Whether a script may run at maxmemory is decided by its first write: this one takes no memory.
local function drop_dead_leases(s)
  redis.call('ZREMRANGEBYSCORE', s.queue, '-inf', text_of(s.now - 9e15))
end

-- Writes those that joined, and the lease of this client, with which all its requests count.
local function arrive(s, comers)
  drop_dead_leases(s)
  s.waiting, s.waited = s.waiting + #comers / 2, true
  add(comers, text_of(s.now + WAITER_LEASE_US - 9e15), '@' .. string.match(s.run.inbox, '[^:]*$'))
  redis.call('ZADD', s.queue, unpack(comers))
  redis.call('PEXPIRE', s.queue, 'KEYS_LIFE_MS')
end

-- The verdicts on those that wait, by id. One that was dropped (claim or lease over after a stall,
-- data lost) returns to its old place.
local function recall(s, ids, records, places, run)
  local own, comers = {}, {}
  if places[1] then
    -- An old `meta` that was restored alone may know of fewer than wait: they would not be served.
    s.waiting = redis.call('ZCOUNT', s.queue, '0', '+inf')
  end
  local scores = s.waiting > 0 and ids[1] and redis.call('ZMSCORE', s.queue, unpack(ids)) or {}
  for i = 1, #ids do
    local id, place = ids[i], (scores[i] or places[i] or 0) + 0
    if not own[id] and (scores[i] or place > 0 and not string.match(records[i] or '', '^[%d,-]+ %d+ ')) then
      -- Nobody's number may bring those of all others to where a float has no next one.
      place = text_of(math.min(place, 9e15))
      own[id] = 'q' .. place
      if not scores[i] then
        -- Where data was lost while the clock was behind: new requests must come behind it.
        s.last = math.max(s.last, place + 0)
        add(comers, place, id)
        add(s.fields, id, text_of(run.ttl) .. ';' .. run.label)
      end
    end
  end
  if next(own) then
    arrive(s, comers)
  end
  return own
end

-- The verdict on one that does not wait yet.
local function answer(s, id, record, kind, run, comers)
  local ticket = string.match(record or '', '^([%d,-]+ %d+) ')
  local expires = s.now + run.ttl
  if ticket then
    drop_dead_leases(s)
    add(s.adds, text_of(expires), id)
    s.ends = math.max(s.ends or 0, expires)
    return ticket
  end
  local _, permits = parts_of(id)
  if permits > s.limit and s.limit > 0 then
    return 'o' .. text_of(s.limit)
  elseif not s.blocked and fits(s, permits) then
    return grant(s, id, permits, run.label, expires)
  elseif kind == 't' then
    return 'b'
  end
  s.blocked = true
  local place = next_number(s)
  add(comers, place, id)
  add(s.fields, id, text_of(run.ttl) .. ';' .. run.label)
  return 'q' .. place
end

local function acquire(tickets, meta, queue, text, run)
  local asked = parse(text)
  local ids, kinds = asked.ids, asked.kinds
  local s, verdicts, comers, waits, first = open(tickets, meta, queue, run, ids), {}, {}, nil, nil
  if run.late then
    serve(s)
    return close(s, string.sub(string.rep('l;', #ids), 1, -2))
  end
  if asked.rate ~= '' then
    name_rate(s, asked.rate)
  end
  s.asks = true
  local records = ids[1] and redis.call('HMGET', meta, unpack(ids)) or {}
  local own = recall(s, ids, records, asked.places, run)
  serve(s, own, run.ttl, run.label)
  for i = 1, #ids do
    local id = ids[i]
    own[id] = own[id] or answer(s, id, records[i], string.sub(kinds, i, i), run, comers)
    verdicts[i] = own[id]
    local place = string.byte(own[id]) == 113 and string.sub(own[id], 2) + 0
    if place and (not waits or place < first) then
      waits, first = id, place
    end
  end
  if comers[1] then
    arrive(s, comers)
  end
  return close(s, table.concat(verdicts, ';'), waits)
end
