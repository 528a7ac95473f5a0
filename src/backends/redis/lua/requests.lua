-- Fragment of acquire.lua: requests of one semaphore, some of which may be known already.

local function list_of(text)
  return text == '' and {} or cjson.decode(text)
end

-- What a text asks for, see acquire.lua.
local function parse(text)
  local first = string.byte(text)
  if first ~= 91 then
    local id, kind = first == 63 and string.sub(text, 2) or text, first == 63 and 't' or 'w'
    return { ids = { id }, kinds = kind, places = {}, orders = {}, most = '', rate = '' }
  end
  local ids, kinds, places, orders, most, rate =
    string.match(text, '^([^|]*)|?([^|]*)|?([^|]*)|?([^|]*)|?([^|]*)|?(.*)$')
  local asked = { ids = cjson.decode(ids), kinds = kinds, most = most, rate = rate }
  asked.places, asked.orders = list_of(places), list_of(orders)
  return asked
end

-- What comes before arrival: a request that has a place in its order; nil for one without options.
local function order_of(s, id, place, text)
  local priority, weight, group = string.match(text or '', '^(%d) (%d+) (%S*)$')
  local base = text_of(s.run.ttl) .. ';' .. s.run.label
  return request_of(id, base, place, priority or '0', weight or 1, group or '')
end

-- Drops the requests of dead clients, so that the others can be counted. Heads come last: their
-- successors live.
local function sweep(s)
  local alive = {}
  local zones = { '-1700000000000000', '-1500000000000000', '1500000000000000', '+inf', '0', '(1400000000000000' }
  for zone = 1, 5, 2 do
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', s.queue, zones[zone], zones[zone + 1])) do
      local id = string.match(member, '[^ ]+$')
      local r = member ~= id and request_at(s, member)
      local dead = not is_alive(s, alive, (parts_of(id)))
      if dead and r then
        leave(s, r, redis.call('ZSCORE', s.queue, member) + 0)
      elseif dead then
        s.waiting = s.waiting - redis.call('ZREM', s.queue, member)
        redis.call('HDEL', s.meta, id)
      end
    end
  end
end

-- True where requests of dead clients must leave as well, to be counted right. A caller without a
-- bound leaves that to the next one that has one, by a lease of nobody. Whether a script may run at
-- maxmemory is decided by its first write: this one takes no memory.
local function drop_dead_leases(s)
  local first = s.most and '-inf' or '(-9000000000000000'
  local found = redis.call('ZREMRANGEBYSCORE', s.queue, first, text_of(s.now - 9e15)) > 0
  if found and not s.most then
    redis.call('ZADD', s.queue, '-9000000000000000', '@')
  end
  return found and s.most
end

-- Puts a request into the queue.
local function enqueue(s, r)
  if not r.plain and not s.order then
    begin_order(s)
  end
  s.waiting, s.waited = s.waiting + 1, true
  if s.order then
    s.order.others = s.order.others + (r.plain and 0 or 1)
    join(s, r)
  else
    add(s.comers, r.place, r.id)
    add(s.fields, r.id, r.base)
  end
end

-- With its lease all requests of a client count.
local function own_lease(s)
  return text_of(s.now + WAITER_LEASE_US - 9e15), '@' .. s.client
end

-- Writes those that joined, and the lease of this client.
local function arrive(s)
  local dead = drop_dead_leases(s)
  s.waited = true
  add(s.comers, own_lease(s))
  write(s.comers, 'ZADD', s.queue)
  s.comers = {}
  redis.call('PEXPIRE', s.queue, 'KEYS_LIFE_MS')
  if dead then
    sweep(s)
  end
end

-- The scores of those of the ids that wait.
local function scores_of(s, ids, records)
  local members = {}
  for i = 1, #ids do
    local r = s.order and read_request(ids[i], records[i])
    members[i] = r and r.member or ids[i]
  end
  return redis.call('ZMSCORE', s.queue, unpack(members))
end

-- The place of a request that was in the queue: as it is there, or as the caller says.
local function place_of(id, record, score, place)
  local r = score and read_request(id, record)
  -- Nobody's number may bring those of all others to where a float has no next one, or where heads
  -- are.
  return r and r.place or text_of(math.max(1.5e15, math.min((score or place) + 0, 9e15)))
end

-- The verdicts on those that wait, by id. One that was dropped (claim or lease over after a stall,
-- data lost) returns to its old place.
local function recall(s, asked, records)
  local ids, places, own = asked.ids, asked.places, {}
  local scores = s.waiting > 0 and ids[1] and scores_of(s, ids, records) or {}
  for i = 1, #ids do
    local id, record, given = ids[i], records[i], (places[i] or 0) + 0
    if not own[id] and (scores[i] or given > 0 and not ticket_of(record)) then
      local place = place_of(id, record, scores[i], given)
      own[id] = 'q' .. place
      if not scores[i] then
        -- Where data was lost while the clock was behind: new requests must come behind it.
        s.last = math.max(s.last, place + 0)
        enqueue(s, order_of(s, id, place, asked.orders[i]))
      end
    end
  end
  if next(own) then
    arrive(s)
  end
  return own
end

-- The score of a newcomer: as the head of its flow, or behind others of that.
local function rank_of(s, r)
  local waits = not s.order and r.plain and s.waiting > 0 or s.order and head_of(s, r.flow)
  return waits and math.huge or r.rank + virtual_time(s, r)
end

-- One that finds its permits free at once.
local function take_now(s, r, score)
  if s.blocked and r.band == 9 and not s.order then
    -- It passes the plain flow: virtual time counts from here on.
    begin_order(s)
  end
  if s.blocked and s.order then
    charge(s, r, score)
    s.order.touched[r.band] = true
  end
  return grant(s, r.id, r.permits, s.run.label, s.now + s.run.ttl)
end

-- Whether as many wait as may.
local function is_full(s)
  if not s.most or s.waiting < s.most then
    return false
  end
  write_comers(s)
  s.waiting = count_waiting(s)
  -- What its client left long ago is as dead as that of others, unless it is asked for again.
  redis.call('ZADD', s.queue, s.arrived and 'CH' or 'XX', own_lease(s))
  if drop_dead_leases(s) then
    sweep(s)
  end
  return s.waiting >= s.most
end

-- It waits, unless too many do.
local function queue_up(s, id, order, score)
  if is_full(s) then
    return 'f' .. text_of(s.waiting)
  end
  local r = order_of(s, id, next_number(s), order)
  if score < (s.blocked or math.huge) then
    s.blocked, s.turn = score, s.held + r.permits <= s.limit and id
  end
  enqueue(s, r)
  s.arrived = true
  return 'q' .. r.place
end

-- The verdict on one that does not wait yet.
local function answer(s, id, record, kind, order)
  local ticket = ticket_of(record)
  if ticket then
    local expires = s.now + s.run.ttl
    redis.call('HDEL', s.meta, '')
    add(s.adds, text_of(expires), id)
    s.ends = math.max(s.ends or 0, expires)
    return ticket
  end
  local r = order_of(s, id, '', order)
  if r.permits > s.limit and s.limit > 0 then
    return 'o' .. text_of(s.limit)
  end
  local score = rank_of(s, r)
  -- Before the head that does not fit now.
  if score < (s.blocked or math.huge) and fits(s, r.permits) then
    return take_now(s, r, score)
  end
  return kind == 't' and 'b' or queue_up(s, id, order, score)
end

-- Whether it has a permit for one more, once what has expired and dead clients' requests before it
-- are gone. Grants nothing.
local function is_free(tickets, meta, queue, id, run)
  local s = open(tickets, meta, queue, run, { id })
  s.looks = true
  serve(s)
  s.looks, s.turn = false, nil
  local free = not s.blocked and fits(s, 1)
  close(s, '')
  return free
end

local function acquire(tickets, meta, queue, text, run)
  local asked = parse(text)
  local ids = asked.ids
  local s, verdicts, waits, first = open(tickets, meta, queue, run, ids), {}, nil, nil
  s.most = asked.most ~= '' and asked.most + 0
  if run.late then
    serve(s)
    return close(s, string.sub(string.rep('l;', #ids), 1, -2))
  end
  if asked.rate ~= '' then
    name_rate(s, asked.rate)
  end
  s.asks = true
  if asked.places[1] then
    -- An old `meta` that was restored alone may know of fewer than wait: they would not be served.
    s.waiting = count_waiting(s)
  end
  local records = ids[1] and redis.call('HMGET', meta, unpack(ids)) or {}
  local own = recall(s, asked, records)
  serve(s, own)
  for i = 1, #ids do
    local id = ids[i]
    own[id] = own[id] or answer(s, id, records[i], string.sub(asked.kinds, i, i), asked.orders[i])
    verdicts[i] = own[id]
    local place = string.byte(own[id]) == 113 and string.sub(own[id], 2) + 0
    if place and (not waits or place < first) then
      waits, first = id, place
    end
  end
  if s.arrived then
    arrive(s)
  end
  for i = 1, #ids do
    if string.sub(asked.kinds, i, i) == 'p' and string.byte(verdicts[i]) == 113 then
      verdicts[i] = verdicts[i] .. progress_of(s, ids[i])
    end
  end
  return close(s, table.concat(verdicts, ';'), waits)
end
