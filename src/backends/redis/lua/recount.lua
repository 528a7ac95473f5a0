-- Fragment of the slow paths: a key is missing: it was deleted, evicted or lost, or expired. What
-- can be made again from the others is. A ticket counts only with its record, and the other way
-- round; among those that wait the records in `requests` are the truth.
-- include: records slots order

local function has_tickets(s)
  if not s.state then
    return redis.call('EXISTS', s.tickets, s.info) == 0
  end
  return redis.call('EXISTS', s.tickets) == 1
    and (s.held == s.top or redis.call('EXISTS', s.slots) == 1)
    and (not s.cap or s.count == 0 or redis.call('EXISTS', s.groups) == 1)
end

local function has_queue(s)
  s.waiting = redis.call('HLEN', s.requests)
  local keys = { s.clients, s.capped and s.capped_flows }
  for priority in pairs(s.times) do
    keys[#keys + 1] = not has_capped(s, priority) and heads_of(s, priority) or nil
  end
  if not s.waits or s.waiting == 0 then
    return not s.waits and s.waiting == 0
  end
  return redis.call('EXISTS', unpack(keys)) == #keys
    and (next(s.times) or redis.call('ZCARD', s.queue) + redis.call('ZCARD', s.parked) == s.waiting)
end

-- Up to layout 2 another key had the number.
local function check_layout(s)
  local layout = redis.call('HGET', s.info, 'layout') or redis.call('EXISTS', key_of(s.tickets, 'meta')) == 1 and '2'
  if layout and layout ~= 'LAYOUT' then
    local advice = 'stop its processes and delete the keys, or use another prefix'
    error('the keys have layout ' .. layout .. ', this version of redsem has LAYOUT: ' .. advice)
  end
end

local function recount_tickets(s)
  if not s.state or redis.call('EXISTS', s.tickets) == 0 then
    redis.call('DEL', s.tickets, s.info, s.slots, s.groups)
    s.state, s.count, s.held, s.top = s.state and '', 0, 0, 0
    return
  end
  local records, used, top = redis.call('HGETALL', s.info), {}, 0
  for i = 1, #records, 2 do
    local _, slots = ticket_of(records[i] ~= 'state' and records[i + 1])
    for range in string.gmatch(slots or '', '[%d-]+') do
      used[#used + 1] = { ends_of(range) }
    end
  end
  table.sort(used, function(one, other)
    return one[1] < other[1]
  end)
  for i = 1, #used do
    if used[i][1] > top then
      add(s.freed, top, used[i][1] - 1)
    end
    top = used[i][2] + 1
  end
  if s.cap then
    count_groups(s)
  end
end

-- Where their leases are lost, all that wait count for as long as a lease.
local function recount_queue(s)
  local records, found = redis.call('HGETALL', s.requests), {}
  local alive = redis.call('EXISTS', s.clients) == 0 and text_of(s.now + WAITER_LEASE_US)
  redis.call('DEL', s.queue, s.parked, s.capped_flows)
  for priority = 0, 9 do
    for _, head in ipairs(redis.call('ZRANGE', heads_of(s, priority), '0', '-1')) do
      redis.call('DEL', flow_of(s, priority, string.match(head, ' (.*)$')))
    end
    redis.call('DEL', heads_of(s, priority))
  end
  for i = 1, #records, 2 do
    local r = request_of(s, records[i], records[i + 1])
    redis.call('DEL', r.flow)
    if alive then
      redis.call('ZADD', s.clients, alive, r.client)
    end
    found[#found + 1] = r
  end
  table.sort(found, function(one, other)
    return one.place .. one.id < other.place .. other.id
  end)
  s.times, s.parks, s.capped, s.waiting = {}, nil, nil, #found
  for i = 1, #found do
    s.last = math.max(s.last, found[i].place + 0)
    join(s, found[i])
  end
  s.touched[s.requests], s.touched[s.clients] = true, true
  if s.waiting == 0 then
    redis.call('DEL', s.clients)
  end
end

-- Counts again what is not whole.
local function recount(s)
  local keeps_tickets = has_tickets(s)
  local keeps_queue = has_queue(s) and (s.state or keeps_tickets)
  if keeps_tickets and keeps_queue then
    return
  end
  check_layout(s)
  if not keeps_tickets then
    recount_tickets(s)
  end
  if not keeps_queue then
    recount_queue(s)
  end
end
