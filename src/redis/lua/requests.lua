-- Fragment of make_slow: requests of one semaphore, some of which may be known already.

local function parse(text)
  local listed, kinds, arrivals = string.match(text, '^([^|]*)|?([^|]*)|?(.*)$')
  local places, total = {}, 0
  for place in string.gmatch(arrivals, '%d+') do
    total = total + 1
    places[total] = place
  end
  return ids_in(listed), kinds, places
end

-- Puts one that is not known into the queue.
local function join(s, id, place, ttl, label)
  M.add(s.comers, place, id)
  redis.call('HSET', s.meta, id, ttl .. ';' .. label)
end

-- A request that was dropped (claim or lease over after a stall, data lost) returns to its old place.
local function rejoin(s, ids, records, scores, places, ttl, label)
  for i = 1, #ids do
    local known = (places[i] or '0') ~= '0' and not string.match(records[i] or '', '^[%d,-]+ %d+ ')
    if known and not scores[i] then
      -- Nobody's number may bring those of all others to where a float has no next one.
      local place = math.min(places[i] + 0, 9e15)
      -- Where data was lost while the clock was behind: new requests must come behind it.
      s.last, scores[i] = math.max(s.last, place), digits(place)
      join(s, ids[i], scores[i], ttl, label)
    end
  end
  M.arrive(s)
end

-- Writes those that joined, and until when this client's requests count.
function M.arrive(s)
  M.add(s.comers, digits(now + WAITER_LEASE - LEASES), '@' .. client)
  -- Whether a script may run at maxmemory is decided by its first write: this one takes no memory.
  redis.call('ZREMRANGEBYSCORE', s.queue, '-inf', digits(now - LEASES))
  s.waiting = s.waiting + #s.comers / 2 - 1
  redis.call('ZADD', s.queue, unpack(s.comers))
  redis.call('PEXPIRE', s.queue, '86400000')
  s.comers = {}
end

-- The verdict on one request.
local function answer(s, id, record, score, kind, ttl, label)
  local ticket = string.match(record or '', '^[%d,-]+ %d+')
  if ticket and string.find(record, ' ', #ticket, true) then
    M.add(s.adds, digits(now + ttl), id)
    s.ends = math.max(s.ends or 0, now + ttl)
    return ticket
  elseif score then
    return 'q' .. digits(score)
  end
  local permits = M.permits_of(id)
  if permits > s.limit then
    return string.format('o%d', s.limit)
  elseif not s.blocked and s.held + permits <= s.limit then
    return M.grant(s, id, permits, label, now + ttl)
  elseif kind == 't' then
    return 'b'
  end
  s.blocked, s.last = true, math.max(s.last + 1, now)
  join(s, id, digits(s.last), ttl, label)
  return 'q' .. digits(s.last)
end

function M.acquire(s, requests, late, ttl, label)
  local ids, kinds, places = parse(requests)
  if late then
    M.serve(s)
    return M.close(s, string.rep('l;', #ids - 1) .. 'l')
  end
  s.comers = {}
  if #places > 0 then
    -- An old `meta` that was restored alone may know of fewer than wait: they would not be served.
    s.waiting = redis.call('ZCOUNT', s.queue, '0', '+inf')
  end
  local records, scores, own = redis.call('HMGET', s.meta, unpack(ids)), {}, {}
  if s.waiting > 0 then
    scores = redis.call('ZMSCORE', s.queue, unpack(ids))
  end
  if #places > 0 then
    rejoin(s, ids, records, scores, places, ttl, label)
  end
  for i = 1, #ids do
    own[ids[i]] = ids[i]
  end
  M.serve(s, own, ttl)
  local verdicts, waits = {}, false
  for i = 1, #ids do
    local granted = own[ids[i]] ~= ids[i] and own[ids[i]]
    verdicts[i] = granted or answer(s, ids[i], records[i], scores[i], string.sub(kinds, i, i), ttl, label)
    waits = waits or string.sub(verdicts[i], 1, 1) == 'q'
  end
  if #s.comers > 0 then
    M.arrive(s)
  end
  return M.close(s, table.concat(verdicts, ';'), waits)
end
