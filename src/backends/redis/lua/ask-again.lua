-- Fragment of acquire-slow.lua: when a caller that waits should ask again.
-- include: records gcra fair-order waiter-leases

-- When the caller should ask for its first request. The client of the head asks when the rate
-- allows the head. In an order of arrival each request before the caller's takes one permit of the
-- rate first. Another client asks some time after the head at the latest, if no message has come by
-- then: the head's client may have died.
local function turn_of(s, id)
  local head = pay_time(s, s.turn, 0)
  if s.turn.client == s.client then
    return head
  end
  local _, permits = parts_of(id)
  local ahead = not has_order(s) and redis.call('ZRANK', s.queue, id)
  local own = ahead and pay_time(s, { permits = permits }, ahead)
  return math.min(own or math.huge, head + AFTER_TURN_US)
end

-- If the rate or a budget alone holds the queue back, '@' and the caller's turn: it has no need to
-- ask before, and its lease lasts until then. Else the expiry of the next ticket. `id`: of
-- the caller's first request that waits.
local function ask_again_at(s, id)
  if s.turn then
    local turn = math.ceil(turn_of(s, id))
    -- A client that asks for a new request alone may sleep for others until later.
    local known = not s.recalled and redis.call('ZSCORE', s.clients, s.client) or 0
    redis.call('ZADD', s.clients, text_of(math.max(turn + WAITER_LEASE_US, known + 0)), s.client)
    return '@' .. text_of(turn)
  end
  local expiry = redis.call('ZRANGE', s.tickets, '0', '0', 'WITHSCORES')[2]
  return expiry and expiry + 0 < NEVER and text_of(expiry + 0) or ''
end
