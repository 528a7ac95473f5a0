-- Fragment of make_slow: requests of one semaphore, some of which may be known already.

-- Ids, kinds and places of a text, see acquire.lua.
local function parse(text)
  local sign = string.byte(text)
  if sign ~= 91 then
    return { sign == 63 and string.sub(text, 2) or text }, sign == 63 and 't' or 'w', {}
  end
  local ids, kinds, places = string.match(text, '^([^|]*)|?([^|]*)|?(.*)$')
  return cjson.decode(ids), kinds, places == '' and {} or cjson.decode(places)
end

-- Puts one that is not known into the queue.
local function join(s, id, place, ttl, label)
  local comers = s.comers
  local size = #comers
  comers[size + 1], comers[size + 2] = place, id
  add_field(s, id, text_of(ttl) .. ';' .. label)
end

-- Writes those that joined, and for how long this client's requests count.
local function arrive(s)
  local comers, empty = s.comers, s.waiting == 0
  if empty and not comers[1] then
    return
  end
  s.waiting, s.comers, s.waited, s.arrived = s.waiting + #comers / 2, {}, true, true
  comers[#comers + 1], comers[#comers + 2] = text_of(now + WAITER_LEASE_US - 9e15), '@' .. client
  if not empty then
    -- Whether a script may run at maxmemory is decided by its first write: this one takes no memory.
    redis.call('ZREMRANGEBYSCORE', s.queue, '-inf', text_of(now - 9e15))
  end
  redis.call('ZADD', s.queue, unpack(comers))
  redis.call('PEXPIRE', s.queue, 'KEYS_LIFE_MS')
end

-- `ids` may have one twice: two tries, of which one was thought lost, can travel together.
-- A request that was dropped (claim or lease over after a stall, data lost) returns to its old place.
local function rejoin(s, ids, records, scores, places, ttl, label)
  local joined = {}
  for i = 1, #ids do
    local place = (places[i] or 0) + 0
    scores[i] = scores[i] or joined[ids[i]]
    if place > 0 and not scores[i] and not string.match(records[i] or '', '^[%d,-]+ %d+ ') then
      -- Nobody's number may bring those of all others to where a float has no next one.
      place = math.min(place, 9e15)
      -- Where data was lost while the clock was behind: new requests must come behind it.
      s.last, scores[i], joined[ids[i]] = math.max(s.last, place), place, place
      join(s, ids[i], text_of(place), ttl, label)
    end
  end
  arrive(s)
  write(s.fields, 'HSET', s.meta)
  s.fields = {}
end

-- The verdict on one request.
local function answer(s, id, record, score, kind, ttl, label)
  local ticket = string.match(record or '', '^([%d,-]+ %d+) ')
  if ticket then
    add_ticket(s, id, now + ttl)
    s.renews = true
    return ticket
  elseif score then
    return 'q' .. text_of(score)
  end
  local _, permits = parts_of(id)
  if permits > s.limit then
    return 'o' .. text_of(s.limit)
  elseif not s.blocked and s.held + permits <= s.limit then
    return grant(s, id, permits, label, now + ttl)
  elseif kind == 't' then
    return 'b'
  end
  s.blocked, s.last = true, math.max(s.last + 1, now)
  local place = s.last == now and now_text or text_of(s.last)
  join(s, id, place, ttl, label)
  return 'q' .. place
end

local function acquire(tickets, meta, queue, limit, others, state, text, late, ttl, label)
  local s = open(tickets, meta, queue, limit, others, state)
  local ids, kinds, places = parse(text)
  if late then
    serve(s)
    return close(s, string.sub(string.rep('l;', #ids), 1, -2))
  end
  s.comers = {}
  if places[1] then
    -- An old `meta` that was restored alone may know of fewer than wait: they would not be served.
    s.waiting = redis.call('ZCOUNT', queue, '0', '+inf')
  end
  local records, scores, own = ids[1] and redis.call('HMGET', meta, unpack(ids)) or {}, {}, {}
  if s.waiting > 0 and ids[1] then
    scores = redis.call('ZMSCORE', queue, unpack(ids))
  end
  if places[1] then
    rejoin(s, ids, records, scores, places, ttl, label)
  end
  for i = 1, s.waiting > 0 and #ids or 0 do
    own[ids[i]] = true
  end
  serve(s, own, ttl)
  local verdicts, waits = {}, false
  for i = 1, #ids do
    local id, ticket = ids[i], own[ids[i]]
    verdicts[i] = type(ticket) == 'string' and ticket or answer(s, id, records[i], scores[i], string.sub(kinds, i, i), ttl, label)
    own[id] = verdicts[i]
    waits = waits or string.byte(verdicts[i]) == 113
  end
  if s.comers[1] or waits and not s.arrived then
    arrive(s)
  end
  return close(s, verdicts[2] and table.concat(verdicts, ';') or verdicts[1] or '', waits)
end
