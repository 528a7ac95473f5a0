-- Fragment of requests.lua: with its lease all requests of a client count.
-- room: leases
-- include: rooms queue
-- Drops the requests of dead clients, so that the others can be counted.
local function sweep(s)
  local records = redis.call('HGETALL', s.requests)
  for i = 1, #records, 2 do
    local r = request_of(records[i], records[i + 1])
    if r and not queue.is_alive(s, r.client) then
      queue.leave(s, r)
    end
  end
end

-- No lease becomes shorter: another object of the process may wait for a turn that is far away.
function leases.keep(s, till)
  local known = redis.call('ZSCORE', s.clients, s.client) or 0
  redis.call('ZADD', s.clients, text_of(math.max(till, known + 0)), s.client)
end

-- Drops leases that are over, and renews that of the client, if it still has one or `is_sure`. A
-- caller with a bound drops dead clients' requests as well, to count the others; another one leaves
-- word of it by a lease without a client, '.', to the next that has a bound. (At maxmemory a script
-- may add once it has removed.)
function leases.renew(s, is_sure)
  local dropped = redis.call('ZREMRANGEBYSCORE', s.clients, s.most and '-inf' or '(0', text_of(s.now)) > 0
  if is_sure or redis.call('ZSCORE', s.clients, s.client) then
    leases.keep(s, s.now + WAITER_LEASE_US)
  end
  s.alive[s.client] = nil
  s.touched[s.clients], s.touched[s.requests], s.touched[s.parked] = true, true, s.parks and true
  if dropped and s.most then
    sweep(s)
  elseif dropped then
    redis.call('ZADD', s.clients, '0', SIGN)
  end
end
