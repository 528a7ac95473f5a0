-- Fragment of acquire-slow.lua: with its lease all requests of a client count. Requests of dead
-- clients are dropped before a full queue refuses a request.
-- include: serve-queue

-- Drops the requests of dead clients, so that the others can be counted.
local function sweep(s)
  local records = redis.call('HGETALL', s.requests)
  for i = 1, #records, 2 do
    local r = request_of(records[i], records[i + 1])
    if r and not is_alive(s, r.client) then
      leave_queue(s, r)
    end
  end
end

-- Drops leases that are over, and renews the client's, if it still has a lease or `is_sure`. A
-- caller with a bound drops dead clients' requests as well, to count the others. Any other caller
-- leaves word for the next caller with a bound, by a lease without a client, '.'. (At maxmemory a
-- script may add once it has removed.)
local function renew_lease(s, is_sure)
  local is_bounded = s.max_waiting < math.huge
  local dropped = redis.call('ZREMRANGEBYSCORE', s.clients, is_bounded and '-inf' or '(0', text_of(s.now)) > 0
  local known, till = redis.call('ZSCORE', s.clients, s.client), s.now + WAITER_LEASE_US
  if (is_sure or known) and (known or 0) + 0 < till then
    redis.call('ZADD', s.clients, text_of(till), s.client)
  end
  s.alive[s.client] = nil
  s.touched[s.clients], s.touched[s.requests], s.touched[s.parked] = true, true, s.parks and true
  if dropped and is_bounded then
    sweep(s)
  elseif dropped then
    redis.call('ZADD', s.clients, '0', SIGN)
  end
end
