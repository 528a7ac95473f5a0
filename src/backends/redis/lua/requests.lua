-- Fragment of acquire.lua: requests of one semaphore, some of which may be known already.
-- include: semaphore serve progress close

-- What a text asks for, see acquire.lua.
local function parse(text)
  local list, kinds, places, orders, most, rules = string.match(text, '^(.*)|(%a*)|(.*)|(.*)|(%d*)|(.*)$')
  local ids = string.byte(text) == LIST and cjson.decode(list or text) or { (string.gsub(text, '^%?', '')) }
  kinds = kinds or string.rep(string.byte(text) == TRY and 't' or 'w', #ids)
  local asked = { ids = ids, kinds = kinds, most = tonumber(most), rules = rules or '' }
  asked.places = places and cjson.decode(places) or {}
  asked.orders = orders and cjson.decode(orders) or {}
  return asked
end

local function new_request(s, id, place, order)
  return request_of(s, id, place .. ' ' .. s.run.life .. ' ' .. s.run.label .. ' ' .. (order or ''))
end

-- The verdicts on those that wait, by id. One that was dropped (claim or lease over after a stall,
-- data lost) returns to its old place, but for places where a number has no next one.
local function recall(s, asked, tickets)
  local records, own = s.waiting > 0 and redis.call('HMGET', s.requests, unpack(asked.ids)) or {}, {}
  for i, id in ipairs(asked.ids) do
    local known, place = request_of(s, id, records[i]), (asked.places[i] or 0) + 0
    if known then
      own[id], s.touched[known.flow] = 'q' .. known.place, true
    elseif place > 0 and not own[id] and not ticket_of(tickets[i]) then
      place = math.max(1e15, math.min(place, 9e15))
      own[id] = 'q' .. text_of(place)
      -- Where data was lost while the clock was behind: new requests must come behind it.
      s.last = math.max(s.last, place)
      enqueue(s, new_request(s, id, text_of(place), asked.orders[i]))
    end
  end
  if next(own) then
    renew_lease(s, 'CH')
  end
  return own
end

-- Whether a newcomer comes before the first that does not fit.
local function is_next(s, r)
  local blocked = s.blocked
  if s.cap and (not has_room(s, r) or first_of(s, r.flow)) then
    return false
  elseif not blocked then
    return s.held < s.limit
  elseif first_of(s, r.flow) then
    return false
  end
  local tag = (s.times[r.priority] or 0) + r.cost
  return r.priority > blocked.priority or r.priority == blocked.priority and tag < s.blocked_tag
end

-- One that finds its permits free at once.
local function take_now(s, r)
  if s.blocked and r.priority == 0 then
    -- It passes the plain flow: virtual time counts from here on.
    begin_order(s)
  end
  local time = (s.blocked or s.cap) and s.times[r.priority]
  s.times[r.priority] = time and time + r.cost or s.times[r.priority]
  return grant(s, r, r.label, r.life)
end

-- The verdict on one that does not wait yet.
local function answer(s, id, record, kind, order)
  local ticket = ticket_of(record)
  if ticket then
    redis.call('HDEL', s.info, '')
    s.ends = math.max(s.ends or 0, s.now + s.run.ttl)
    add(s.adds, text_of(s.now + s.run.ttl), id)
    return ticket
  end
  local r = new_request(s, id, '', order)
  local most = math.min(s.limit, s.cap or s.limit)
  if r.permits > most and most > 0 then
    return 'o' .. text_of(most)
  end
  local comes_first = is_next(s, r)
  if comes_first and fits(s, r) then
    return take_now(s, r)
  elseif kind == 't' then
    return 'b'
  end
  if s.most and s.waiting >= s.most then
    -- What its client left long ago is as dead as that of others, unless it is asked for again.
    renew_lease(s, s.arrived and 'CH' or 'XX')
  end
  if s.most and s.waiting >= s.most then
    return 'f' .. text_of(s.waiting)
  end
  r.place, s.arrived = next_number(s), true
  if comes_first then
    block(s, r, (s.times[r.priority] or 0) + r.cost)
  end
  enqueue(s, r)
  return 'q' .. r.place
end

-- Whether it has a permit for one more, once what has expired and dead clients' requests before it
-- are gone. Grants nothing.
local function is_free(tickets, info, id, run)
  local s = open(tickets, info, run, { id })
  s.looks = true
  serve(s)
  s.looks, s.turn = false, nil
  local r = { id = id, permits = 1, priority = 0, group = '', flow = s.queue }
  local is_free_now = not s.blocked and is_next(s, r) and fits(s, r)
  close(s, '')
  return is_free_now
end

-- What the caller was made with counts where nothing else is stored.
local function name_rules(s, rules)
  local rate, cap, budgets = string.match(rules, '^([^;]*);?(%d*);?(.*)$')
  if rate ~= '' then
    name_meter(s, '', rate)
  end
  if cap ~= '' then
    name_cap(s, cap + 0)
  end
  for name, terms in string.gmatch(budgets, '([^,;]+),([%d,]+)') do
    name_meter(s, name, terms)
  end
end

local function acquire(tickets, info, text, run)
  local asked = parse(text)
  local ids = asked.ids
  local s, verdicts, waits = open(tickets, info, run, ids), {}, nil
  s.most = asked.most
  if run.late then
    serve(s)
    return close(s, string.sub(string.rep('l;', #ids), 1, -2))
  end
  if asked.rules ~= '' then
    name_rules(s, asked.rules)
  end
  s.asks = true
  local records = ids[1] and redis.call('HMGET', info, unpack(ids)) or {}
  local own = recall(s, asked, records)
  serve(s, own)
  for i, id in ipairs(ids) do
    own[id] = own[id] or answer(s, id, records[i], string.sub(asked.kinds, i, i), asked.orders[i])
    verdicts[i] = own[id]
  end
  if s.arrived then
    renew_lease(s, 'CH')
  end
  for i, id in ipairs(ids) do
    local place = string.match(verdicts[i], '^q(%d+)')
    if place and (not waits or place < waits.place) then
      waits = { id = id, place = place }
    end
    if place and string.sub(asked.kinds, i, i) == 'p' then
      verdicts[i] = verdicts[i] .. progress_of(s, id)
    end
  end
  return close(s, table.concat(verdicts, ';'), waits and waits.id)
end

return acquire, is_free
