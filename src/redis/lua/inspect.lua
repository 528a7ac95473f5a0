-- Tells one page of what a semaphore holds. Writes nothing; what has expired is not counted.
--
-- KEYS  tickets, free, queue, waiters, meta
-- ARGV  1 now (microseconds; '' on a real server)   2 limit   3 first entry of the page   4 entries in a page
-- Reply 'now|limit|more|holders|waiters': more is 0 behind the last page, then 'id expiry slots token granted label;…'
--       and 'id arrival label;…'
-- Cost  O(log n + page)

-- include: clock
local from, size = format('%.0f', ARGV[3] * 1.0), ARGV[4]
local holders, requests = {}, {}
local live = call('ZRANGEBYSCORE', tickets, '(' .. now_text, '+inf', 'WITHSCORES', 'LIMIT', from, size)
for i = 1, #live, 2 do
  local record = call('HGET', meta, live[i])
  if record then
    holders[#holders + 1] = live[i] .. ' ' .. format('%.0f', live[i + 1] * 1.0) .. ' ' .. record
  end
end
local final = format('%.0f', from + size - 1.0)
local queued = call('ZRANGE', queue, from, final, 'WITHSCORES')
for i = 1, #queued, 2 do
  local lease = call('ZSCORE', waiters, match(queued[i], '^[^.]+'))
  if lease and lease * 1.0 > now then
    local label = call('HGET', meta, queued[i]) or '?'
    requests[#requests + 1] = queued[i] .. ' ' .. format('%.0f', queued[i + 1] * 1.0) .. ' ' .. label
  end
end
local limit = format('%.0f', (call('HGET', meta, 'limit') or ARGV[2]) * 1.0)
local more = (#live > 0 or #queued > 0) and '1' or '0'
return now_text .. '|' .. limit .. '|' .. more .. '|' .. table.concat(holders, ';') .. '|' .. table.concat(requests, ';')
