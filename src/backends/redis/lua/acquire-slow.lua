-- Fragment of acquire.lua: requests of one semaphore, some of which may be known already.
-- include: named-rules semaphore rate waiter-leases queue-position close ask-again

-- The requests of a text, see acquire.lua.
local function parse(text)
  local list, kinds, arrivals, orders, most, rules = string.match(text, '^([^|]*)|(%a*)|([^|]*)|([^|]*)|(%d*)|(.*)$')
  local first = string.byte(text)
  local function items_of(part)
    return part and (first == LIST and cjson.decode(part) or { part }) or {}
  end
  local ids = items_of(string.match(list or text, '^[?@]?(.*)$'))
  return {
    ids = ids, kinds = kinds or string.rep(first == TRY and TRIES or WAITS, #ids), arrivals = items_of(arrivals),
    orders = items_of(orders), max_waiting = tonumber(most) or math.huge, rules = rules or '',
  }
end

-- `options`: the arguments have '0 1 ' for a request without options.
local function new_request(s, id, arrival, options)
  local terms = ' ' .. s.run.life .. ' ' .. s.run.label .. ((options or '0 1 ') == '0 1 ' and '' or ' ' .. options)
  local r = request_of(s, id, arrival .. terms)
  r.terms = terms
  return r
end

-- The rules that the caller was made with count unless others are stored. A call writes so at most
-- twice in their life.
local function name_rules(s, text)
  local named, cap = rules_to_write(s, text)
  for name, terms in pairs(named) do
    local period = string.match(terms, ',(%d+)') + 0
    use_terms(s, name, terms, text_of(s.now + math.max(period, RATE_LIFE_US)))
  end
  if cap then
    use_cap(s, cap, text_of(s.now + RATE_LIFE_US))
  end
end

-- Puts a request into the queue.
local function enqueue(s, r)
  redis.call('HSET', s.requests, r.id, r.arrival .. r.terms)
  s.waiting, s.waited = s.waiting + 1, true
  join_flow(s, r)
end

-- The verdicts on waiting requests, by id. A request that was dropped (claim or lease over after a
-- stall, data lost) returns to its old turn, but for arrivals where a number has no next one.
local function recall(s, asked, tickets)
  local records, own = s.waiting > 0 and redis.call('HMGET', s.requests, unpack(asked.ids)) or {}, {}
  for i, id in ipairs(asked.ids) do
    local known, arrival = request_of(s, id, records[i]), (asked.arrivals[i] or 0) + 0
    if known then
      own[id], s.touched[known.flow] = QUEUED .. known.arrival, true
      -- The loss of another flow shows at its turn; a flow at the cap may get none.
      if (s.cap or s.parks) and known.permits <= s.limit and not redis.call('ZSCORE', known.flow, id) then
        join_flow(s, known)
      end
    elseif arrival > 0 and not own[id] and not ticket_of(tickets[i]) then
      arrival = math.max(1e15, math.min(arrival, 9e15))
      own[id] = QUEUED .. text_of(arrival)
      -- Data may have been lost while the clock was behind: new requests must come behind it.
      s.last = math.max(s.last, arrival)
      enqueue(s, new_request(s, id, text_of(arrival), asked.orders[i]))
    end
  end
  s.recalled = next(own)
  if s.recalled then
    renew_lease(s, true)
  end
  return own
end

-- The verdict on a request that does not wait yet. If a queue waits, the request joins it to find
-- its turn.
local function answer(s, id, record, kind, options, own)
  local ticket = ticket_of(record)
  if ticket then
    redis.call('HDEL', s.info, '')
    s.ends = math.max(s.ends or 0, s.now + s.run.ttl)
    add(s.adds, text_of(s.now + s.run.ttl), id)
    return ticket
  end
  local r = new_request(s, id, '', options)
  local most = math.min(s.limit, s.cap or s.limit)
  if r.permits > most and most > 0 then
    return OVER .. text_of(most)
  end
  local is_free = fits(s, r) and has_room(s, r)
  if is_free and s.waiting == 0 then
    return grant(s, r, r.label, r.life)
  end
  if kind ~= TRIES and s.waiting >= s.max_waiting then
    -- Requests that the caller left long ago count as dead, too, unless it asks for them again.
    renew_lease(s, s.arrived)
    sweep(s)
  end
  local stays = kind ~= TRIES and s.waiting < s.max_waiting
  local refusal = kind == TRIES and BUSY or FULL .. text_of(s.waiting)
  if not is_free and not stays then
    return refusal
  end
  r = new_request(s, id, next_number(s), options)
  local waits = QUEUED .. r.arrival
  own[id], s.alive[s.client] = waits, true
  enqueue(s, r)
  serve(s, own)
  if own[id] == waits and not stays then
    leave_queue(s, r)
    return refusal
  end
  s.arrived = s.arrived or own[id] == waits
  return own[id]
end

-- Whether it holds a ticket for the id, or a permit is free for it once expired tickets and the
-- requests of dead clients are gone. Grants nothing.
local function is_free(tickets, info, id, run)
  local s = open(tickets, info, run)
  s.is_trial, s.asks = true, true
  -- Requests without a group may wait for permits of theirs, and are not overtaken.
  local is_next = not serve(s) and redis.call('EXISTS', s.queue) == 0
  s.is_trial, s.turn = false, nil
  close(s, '')
  local r = { permits = 1, group = '' }
  return redis.call('HEXISTS', info, id) == 1 or is_next and fits(s, r) and has_room(s, r)
end

local function acquire(tickets, info, text, run)
  if run.is_trial then
    return is_free(tickets, info, string.sub(text, 2), run)
  end
  local asked = parse(text)
  local ids = asked.ids
  local s, verdicts, waits = open(tickets, info, run), {}, false
  s.max_waiting = asked.max_waiting
  if run.late then
    return close(s, string.sub(string.rep(LATE .. ';', #ids), 1, -2))
  end
  if asked.rules ~= '' then
    name_rules(s, asked.rules)
  end
  s.asks = true
  local records = ids[1] and redis.call('HMGET', info, unpack(ids)) or {}
  local own = recall(s, asked, records)
  serve(s, own)
  for i, id in ipairs(ids) do
    own[id] = own[id] or answer(s, id, records[i], string.sub(asked.kinds, i, i), asked.orders[i], own)
  end
  if s.arrived then
    renew_lease(s, true)
  end
  for i, id in ipairs(ids) do
    verdicts[i] = own[id]
    if string.sub(own[id], 1, 1) == QUEUED then
      waits = true
      verdicts[i] = own[id] .. (string.sub(asked.kinds, i, i) == ASKS_PROGRESS and progress_of(s, id) or '')
    end
  end
  return close(s, table.concat(verdicts, ';')) .. (waits and ask_again_at(s) or '')
end

return acquire
