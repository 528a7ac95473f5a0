-- Fragment of requests.lua: with its lease all requests of a client count.
-- include: serve
-- Drops the requests of dead clients, so that the others can be counted.
local function sweep(s)
  local records = redis.call('HGETALL', s.requests)
  for i = 1, #records, 2 do
    local r = request_of(s, records[i], records[i + 1])
    if r and not is_alive(s, r.client) then
      leave(s, r)
    end
  end
end

-- Renews the lease of the client, if it has one or `how` is CH, and drops those that are over. A
-- caller with a bound drops their requests as well, to count the others; another one leaves word of
-- it by the lease of nobody, '.', to the next that has a bound.
local function renew_lease(s, how)
  -- At maxmemory a script may add once it has removed.
  redis.call('ZREMRANGEBYSCORE', s.clients, '+inf', '-inf')
  redis.call('ZADD', s.clients, how, text_of(s.now + WAITER_LEASE_US), s.client)
  local dropped = redis.call('ZREMRANGEBYSCORE', s.clients, s.most and '-inf' or '(0', text_of(s.now)) > 0
  if dropped and not s.most then
    redis.call('ZADD', s.clients, '0', '.')
  end
  s.alive[s.client] = nil
  s.touched[s.clients], s.touched[s.requests] = true, true
  if dropped and s.most then
    sweep(s)
  end
end
