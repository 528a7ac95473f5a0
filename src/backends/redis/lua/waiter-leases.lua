-- Fragment of acquire-slow.lua: with its lease all requests of a client count.
-- include: serve-queue

-- Drops leases that are over, and leaves word for `sweep`, by a lease without a client, '.'. Renews
-- the client's. (At maxmemory a script may add once it has removed.)
local function renew_lease(s)
  if redis.call('ZREMRANGEBYSCORE', s.clients, '(0', text_of(s.now)) > 0 then
    redis.call('ZADD', s.clients, '0', SIGN)
  end
  local till = s.now + WAITER_LEASE_US
  if (redis.call('ZSCORE', s.clients, s.client) or 0) + 0 < till then
    redis.call('ZADD', s.clients, text_of(till), s.client)
  end
  s.arriving = nil
  s.touched[s.clients], s.touched[s.requests] = true, true
end
