-- include: clock
-- Tells one page of what a semaphore holds. Writes nothing; what has expired is not counted.
--
-- KEYS  tickets, slots, free, queue, waiters, meta
-- ARGV  1 now (microseconds; '' on a real server)   2 limit   3 first entry of the page   4 entries in a page
-- Reply 'now|limit|more|holders|waiters': more is 0 behind the last page, then 'id expiry slots token granted label;…'
--       and 'id arrival label;…'
-- Cost  O(log n + page)

local from, size = ARGV[3] * 1.0, ARGV[4] * 1.0
local holders, requests = {}, {}
local live = redis.call('ZRANGEBYSCORE', tickets, '(' .. f(now), '+inf', 'WITHSCORES', 'LIMIT', f(from), f(size))
for i = 1, #live, 2 do
  local record = redis.call('HGET', slots, live[i])
  if record then
    holders[#holders + 1] = live[i] .. ' ' .. f(live[i + 1] * 1.0) .. ' ' .. record
  end
end
local queued = redis.call('ZRANGE', queue, f(from), f(from + size - 1), 'WITHSCORES')
for i = 1, #queued, 2 do
  local who = string.match(queued[i], '^[^.]+')
  local lease = redis.call('ZSCORE', waiters, who)
  if lease and lease * 1.0 > now then
    local label = redis.call('HGET', meta, 'label.' .. who) or '?'
    requests[#requests + 1] = queued[i] .. ' ' .. f(queued[i + 1] * 1.0) .. ' ' .. label
  end
end
local limit = (redis.call('HGET', meta, 'limit') or ARGV[2]) * 1.0
local more = (#live > 0 or #queued > 0) and '1' or '0'
return f(now) .. '|' .. f(limit) .. '|' .. more .. '|' .. table.concat(holders, ';') .. '|' .. table.concat(requests, ';')
