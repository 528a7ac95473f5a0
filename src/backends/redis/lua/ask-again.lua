-- Fragment of acquire-slow.lua: when a caller that waits should ask again.
-- include: records gcra fair-order waiter-leases

-- If the rate or a budget alone holds the queue back, '@' and the caller's turn: it has no need to
-- ask before, and its lease lasts until then. The client of the head asks when the rate allows the
-- head. Another client hears by a message that its request is the head, and asks some time after
-- the head if no message has come: the head's client may have died. Else the expiry of the next
-- ticket; with a cap the earlier of both: if the head leaves, a group at the cap may be left, which
-- no message reaches.
local function ask_again_at(s)
  local expiry = (s.cap or not s.turn) and redis.call('ZRANGE', s.tickets, '0', '0', 'WITHSCORES')[2]
  if s.turn then
    local turn = math.ceil(pay_time(s, s.turn)) + (s.turn.client == s.client and 0 or AFTER_TURN_US)
    turn = math.min(turn, (expiry or NEVER) + 0)
    -- A client that asks for a new request alone may sleep for others until later.
    local known = not s.recalled and redis.call('ZSCORE', s.clients, s.client) or 0
    redis.call('ZADD', s.clients, text_of(math.max(turn + WAITER_LEASE_US, known + 0)), s.client)
    return '@' .. text_of(turn)
  end
  return expiry and expiry + 0 < NEVER and text_of(expiry + 0) or ''
end
