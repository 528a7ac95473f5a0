-- Fragment of acquire.lua: requests of one semaphore, some of which may be known already.
-- include: named-rules semaphore rate waiter-leases queue-position close ask-again

-- The requests of a text, see acquire.lua, their ids, how many may wait, and the caller's rules.
local function parse(s, text)
  local list, most, rules = string.match(text, '^@?([^|]*)|?(%d*)|?(.*)$')
  local requests, ids = {}, {}
  for i, item in ipairs(string.byte(list) == LIST and cjson.decode(list) or { list }) do
    local kind, id, arrival, options = string.match(item, '^([?+]?)([^ ]+) ?(%d*)(.*)$')
    local terms = ' ' .. s.run.life .. ' ' .. s.run.label .. options
    requests[i], ids[i] = request_of(s, id, arrival .. terms), id
    requests[i].kind, requests[i].terms = kind, terms
  end
  return requests, ids, tonumber(most) or math.huge, rules
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
  s.waiting, s.verdicts[r.id] = s.waiting + 1, QUEUED .. r.arrival
  join_flow(s, r)
end

-- Puts the verdicts on requests that wait, or waited, into `s.verdicts`. A request that was dropped
-- (claim or lease over after a stall, data lost) returns to its old turn.
local function recall(s, requests, ids, tickets)
  local records = s.waiting > 0 and redis.call('HMGET', s.requests, unpack(ids)) or {}
  for i, r in ipairs(requests) do
    local known = request_of(s, r.id, records[i])
    if known then
      s.verdicts[r.id], s.touched[known.flow] = QUEUED .. known.arrival, true
      -- The loss of another flow shows at its turn; a flow at the cap may get none.
      if (s.cap or s.parks) and known.permits <= s.limit and not redis.call('ZSCORE', known.flow, r.id) then
        join_flow(s, known)
      end
    elseif r.arrival ~= '' and not s.verdicts[r.id] and not ticket_of(tickets[i]) then
      -- Data may have been lost while the clock was behind: new requests must come behind it.
      s.last = math.max(s.last, r.arrival + 0)
      enqueue(s, r)
    end
  end
  s.recalled = next(s.verdicts)
  if s.recalled then
    renew_lease(s)
  end
end

-- The verdict on a request that does not wait yet. If a queue waits, the request joins it to find
-- its turn.
local function answer(s, r, record)
  local ticket, most = ticket_of(record), math.min(s.limit, s.cap or s.limit)
  if ticket then
    redis.call('HDEL', s.info, '')
    s.ends = math.max(s.ends or 0, s.now + r.life)
    add(s.adds, text_of(s.now + r.life), r.id)
    return ticket
  elseif r.permits > most and most > 0 then
    return OVER .. text_of(most)
  end
  local is_free = fits(s, r) and has_room(s, r)
  if is_free and s.waiting == 0 then
    return grant(s, r, r.label, r.life)
  end
  local stays = r.kind ~= '?' and s.waiting < s.max_waiting
  local refusal = r.kind == '?' and BUSY or FULL .. text_of(s.waiting)
  if not is_free and not stays then
    return refusal
  end
  r.arrival, s.arriving = next_number(s), s.client
  r.head = r.arrival .. ' ' .. r.group
  enqueue(s, r)
  serve(s)
  if not stays and s.verdicts[r.id] == QUEUED .. r.arrival then
    leave_queue(s, r)
    return refusal
  end
  s.arrived = s.arrived or s.verdicts[r.id] == QUEUED .. r.arrival
  return s.verdicts[r.id]
end

-- Serves the queue, and gives whether the request has a ticket, or a permit is free for it.
-- The caller, too, hears of grants by messages alone: its reply has no place for them.
local function is_free(s, r)
  s.client = ''
  close(s, '')
  return redis.call('HEXISTS', s.info, r.id) == 1 or s.waiting == 0 and fits(s, r) and has_room(s, r)
end

local function acquire(tickets, info, text, run)
  local s, verdicts, waits = open(tickets, info, run), {}, false
  local requests, ids, max_waiting, rules = parse(s, text)
  if run.looks then
    return is_free(s, requests[1])
  elseif run.late then
    return close(s, LATE)
  end
  s.max_waiting, s.asks = max_waiting, true
  name_rules(s, rules)
  local records = ids[1] and redis.call('HMGET', info, unpack(ids)) or {}
  recall(s, requests, ids, records)
  serve(s)
  for i, r in ipairs(requests) do
    s.verdicts[r.id] = s.verdicts[r.id] or answer(s, r, records[i])
  end
  if s.arrived then
    renew_lease(s)
  end
  for i, r in ipairs(requests) do
    local is_queued = string.sub(s.verdicts[r.id], 1, 1) == QUEUED
    waits = waits or is_queued
    verdicts[i] = s.verdicts[r.id] .. (is_queued and r.kind == '+' and string.format(',%d,%d', position_of(s, r), s.waiting) or '')
  end
  return close(s, table.concat(verdicts, ';')) .. (waits and ask_again_at(s) or '')
end

return acquire
