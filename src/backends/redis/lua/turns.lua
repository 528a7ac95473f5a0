-- Fragment of requests.lua: when a caller that waits should ask again.
-- room: turns
-- include: rooms records rate order waiter-leases

-- When the first of the caller's requests may be allowed. By arrival each of those before it takes
-- a permit at least. In an order others may still come before it: the client of the head asks in
-- time, and the others some time after, if no message has come by then.
local function turn_of(s, id)
  if order.counts(s) then
    return rates.pay_time(s, s.turn, 0) + (s.turn.client == s.client and 0 or AFTER_TURN_US)
  end
  local _, permits = parts_of(id)
  return rates.pay_time(s, { permits = permits }, redis.call('ZRANK', s.queue, id) or 0)
end

-- Where the rate or a budget alone holds the queue back, '@' and the caller's turn: it has no need
-- to ask before, and its lease lasts until then. Else the expiry of the next ticket. `id`: that of
-- the caller's first request that waits.
function turns.nearest(s, id)
  if s.turn then
    local turn = math.ceil(turn_of(s, id))
    leases.keep(s, turn + WAITER_LEASE_US)
    return '@' .. text_of(turn)
  end
  local expiry = redis.call('ZRANGE', s.tickets, '0', '0', 'WITHSCORES')[2]
  return expiry and expiry + 0 < NEVER and text_of(expiry + 0) or ''
end
