-- Fragment of the slow paths: makes a missing key again from the other keys, as far as these allow.
-- The key was deleted, evicted or lost, or has expired. A ticket counts only with its record, and
-- a record only with its ticket; the records in `requests` are the truth of the queue.
-- include: records recount-slots fair-order

-- Up to layout 2 another key had the number.
local function check_layout(s)
  local layout = redis.call('HGET', s.info, 'layout') or redis.call('EXISTS', key_of(s.tickets, 'meta')) == 1 and '2'
  if layout and layout ~= 'LAYOUT' then
    local advice = 'stop its processes and delete the keys, or use another prefix'
    error('the keys have layout ' .. layout .. ', this version of redsem has LAYOUT: ' .. advice)
  end
end

-- If leases are lost, every waiting request counts for the time of a lease.
local function rebuild_queue(s)
  local records = redis.call('HGETALL', s.requests)
  local alive = redis.call('EXISTS', s.clients) == 0 and text_of(s.now + WAITER_LEASE_US)
  redis.call('DEL', s.queue, s.parked)
  for priority = 0, 9 do
    for _, head in ipairs(redis.call('ZRANGE', heads_of(s, priority), '0', '-1')) do
      redis.call('DEL', flow_of(s, priority, string.match(head, ' (.*)$')))
    end
    redis.call('DEL', heads_of(s, priority))
  end
  for i = 1, #records, 2 do
    local r = request_of(records[i], records[i + 1])
    redis.call('DEL', flow_of(s, r.priority, r.group))
  end
  s.times, s.parks, s.is_torn, s.waiting = {}, nil, nil, #records / 2
  for i = 1, #records, 2 do
    local r = request_of(records[i], records[i + 1])
    if alive then
      redis.call('ZADD', s.clients, alive, r.client)
    end
    s.last = math.max(s.last, r.arrival + 0)
    join_flow(s, r)
  end
  s.touched[s.requests], s.touched[s.clients] = true, true
  if s.waiting == 0 then
    redis.call('DEL', s.clients)
  end
end

local function has_queue(s)
  local keys = { s.requests, s.clients, s.parks and s.parked }
  for priority in pairs(s.times) do
    keys[#keys + 1] = heads_of(s, priority)
  end
  return redis.call('EXISTS', unpack(keys)) == #keys
    and (next(s.times) or redis.call('ZCARD', s.queue) + redis.call('ZCARD', s.parked) == s.waiting)
end

-- Makes lost keys again. Without `tickets` or `info` no ticket is left.
local function rebuild_lost_keys(s)
  local is_lost = redis.call('EXISTS', s.tickets, s.info) ~= (s.state and 2 or 0)
  if is_lost then
    check_layout(s)
    redis.call('DEL', s.tickets, s.info, s.slots, s.groups)
    s.state, s.count, s.held, s.top = s.state and '', 0, 0, 0
    for _, m in pairs(s.meters) do
      s.ends = math.max(s.ends or 0, m.tat)
    end
  elseif not s.state then
    redis.call('DEL', s.slots, s.groups)
  -- In place of a key that is not in use `info` is counted, which exists.
  elseif redis.call('EXISTS', s.held < s.top and s.slots or s.info, s.cap and s.count > 0 and s.groups or s.info) < 2 then
    recount(s)
  end
  if is_lost and not s.state or (s.waits or s.waiting > 0) and not has_queue(s) then
    rebuild_queue(s)
  elseif is_lost then
    unblock_all(s)
  end
end
