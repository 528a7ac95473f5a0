-- Fragment of make_slow: requests of one semaphore, some of which may be known already.

function S.parse(text)
  local listed, kinds, arrivals = string.match(text, '^([^|]*)|?([^|]*)|?(.*)$')
  local places, total = {}, 0
  for place in string.gmatch(arrivals, '%d+') do
    total = total + 1
    places[total] = place
  end
  return ids_in(listed), kinds, places
end

-- Puts one that is not known into the queue.
function S.join(s, id, place, ttl, label)
  s.add(s.comers, place, id)
  redis.call('HSET', s.meta, id, ttl .. ';' .. label)
end

-- A request that was dropped (claim or lease over after a stall, data lost) returns to its old place.
function S.rejoin(s, ids, records, scores, places, ttl, label)
  for i = 1, #ids do
    local known = (places[i] or '0') ~= '0' and not string.match(records[i] or '', '^[%d,-]+ %d+ ')
    if known and not scores[i] then
      -- Nobody's number may bring those of all others to where a float has no next one.
      local place = math.min(places[i] + 0, 9e15)
      -- Where data was lost while the clock was behind: new requests must come behind it.
      s.last, scores[i] = math.max(s.last, place), string.format('%d', place)
      s:join(ids[i], scores[i], ttl, label)
    end
  end
  s:arrive()
end

-- Writes those that joined, and until when this client's requests count.
function S.arrive(s)
  s.add(s.comers, string.format('%d', s.now + s.WAITER_LEASE - s.LEASES), '@' .. s.client)
  -- Whether a script may run at maxmemory is decided by its first write: this one takes no memory.
  redis.call('ZREMRANGEBYSCORE', s.queue, '-inf', string.format('%d', s.now - s.LEASES))
  s.waiting = s.waiting + #s.comers / 2 - 1
  redis.call('ZADD', s.queue, unpack(s.comers))
  redis.call('PEXPIRE', s.queue, '86400000')
  s.comers = {}
end

-- The verdict on one request.
function S.answer(s, id, record, score, kind, ttl, label)
  local ticket = string.match(record or '', '^[%d,-]+ %d+')
  if ticket and string.find(record, ' ', #ticket, true) then
    s.add(s.adds, string.format('%d', s.now + ttl), id)
    s.ends = math.max(s.ends or 0, s.now + ttl)
    return ticket
  elseif score then
    return 'q' .. string.format('%d', score)
  end
  local permits = s.permits_of(id)
  if permits > s.limit then
    return string.format('o%d', s.limit)
  elseif not s.blocked and s.held + permits <= s.limit then
    return s:grant(id, permits, label, s.now + ttl)
  elseif kind == 't' then
    return 'b'
  end
  s.blocked, s.last = true, math.max(s.last + 1, s.now)
  s:join(id, string.format('%d', s.last), ttl, label)
  return 'q' .. string.format('%d', s.last)
end

function S.acquire(s, requests, late, ttl, label)
  local ids, kinds, places = s.parse(requests)
  if late then
    s:serve()
    return s:close(string.rep('l;', #ids - 1) .. 'l')
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
    s:rejoin(ids, records, scores, places, ttl, label)
  end
  for i = 1, #ids do
    own[ids[i]] = ids[i]
  end
  s:serve(own, ttl)
  local verdicts, waits = {}, false
  for i = 1, #ids do
    local granted = own[ids[i]] ~= ids[i] and own[ids[i]]
    verdicts[i] = granted or s:answer(ids[i], records[i], scores[i], string.sub(kinds, i, i), ttl, label)
    waits = waits or string.sub(verdicts[i], 1, 1) == 'q'
  end
  if #s.comers > 0 then
    s:arrive()
  end
  return s:close(table.concat(verdicts, ';'), waits)
end
