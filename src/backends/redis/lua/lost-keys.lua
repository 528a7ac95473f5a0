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
  local requests = requests_of(s)
  local is_leased = redis.call('EXISTS', s.clients) == 1
  for priority = 0, 9 do
    for _, head in ipairs(redis.call('ZRANGE', heads_of(s, priority), '0', '-1')) do
      redis.call('DEL', flow_of(s, priority, string.match(head, ' (.*)$')))
    end
    redis.call('DEL', heads_of(s, priority))
  end
  redis.call('DEL', s.queue)
  s.times, s.is_torn, s.waiting = {}, nil, #requests
  for _, r in ipairs(requests) do
    s.last = math.max(s.last, r.arrival + 0)
    if not is_leased then
      redis.call('ZADD', s.clients, text_of(s.now + WAITER_LEASE_US), r.client)
    end
  end
  rejoin_all(s)
  s.touched[s.requests], s.touched[s.clients] = true, true
end

local function has_queue(s)
  local keys = { s.requests, s.clients }
  for priority in pairs(s.times) do
    keys[#keys + 1] = heads_of(s, priority)
  end
  return redis.call('EXISTS', unpack(keys)) == #keys
    and (next(s.times) or s.parks or redis.call('ZCARD', s.queue) == s.waiting)
end

-- Makes lost keys again. Without `tickets` or `info` no ticket is left. A queue whose state is lost
-- may have had an order, and arrivals above any token that is known now.
local function rebuild_lost_keys(s)
  -- While a cluster moves the keys, a call of a key that is not there ends the script. The second
  -- key never exists, so such a script ends here, before anything is written.
  redis.call('EXISTS', s.tickets, key_of(s.tickets, ''))
  local found = redis.call('EXISTS', s.tickets, s.info)
  if found < 2 or not s.state then
    check_layout(s)
    redis.call('DEL', s.tickets, s.info, s.slots, s.groups)
    s.state, s.count, s.held, s.top = s.state and '', 0, 0, 0
    for _, m in pairs(s.meters) do
      s.ends = math.max(s.ends or 0, s.now + m.tat - m.time)
    end
  -- In place of a key that is not in use `info` is counted, which exists.
  elseif redis.call('EXISTS', s.held < s.top and s.slots or s.info, s.cap and s.count > 0 and s.groups or s.info) < 2 then
    recount(s)
  end
  if (s.waits or s.waiting > 0 or found == 1) and not (s.state and has_queue(s)) then
    rebuild_queue(s)
  elseif found < 2 then
    rejoin_all(s)
  end
end
