-- Fragment of requests.lua: when a caller that waits should ask again, as the next ticket expires,
-- or the rate may allow its next request.
-- include: records rate order

-- When the rate allows a request of the caller, where it holds it back now. By arrival each of
-- those before it takes a permit at least. In an order others may still come before it: only the
-- head has a time, and the next one hears of it when it is the head.
local function turn_by_rate(s, id)
  local client, permits = parts_of(id)
  local r = { client = client, permits = permits }
  if is_ordered(s) then
    r = s.turn or {}
  end
  if r.client == s.client and pay_time(s, r, 0) > s.now then
    local ahead = not is_ordered(s) and redis.call('ZRANK', s.queue, id) or 0
    return math.ceil(pay_time(s, r, ahead))
  end
end

-- `id`: that of the caller's first request that waits.
local function nearest(s, id)
  local found = redis.call('ZRANGE', s.tickets, '0', '0', 'WITHSCORES')
  local time = found[2] and found[2] + 0 < NEVER and found[2] + 0
  local turn = next(s.meters) and turn_by_rate(s, id)
  time = turn and math.min(turn, time or turn) or time
  return time and text_of(time) or ''
end
