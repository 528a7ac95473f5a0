-- Tells one page of what a semaphore holds. Writes nothing; what has expired is not counted.
--
-- KEYS  tickets, free, queue, waiters, meta
-- ARGV  1 limit (and, after a space, a clock: see clock.lua)   2 cursor among the tickets, '' when done
--       3 arrival number after which to go on among the waiting requests, '' when done   4 entries in a page
-- Reply 'now|limit|next cursor|next arrival|holders|waiters': 'id expiry slots token granted label;…' and
--       'id arrival label;…'
-- Cost  O(log n + page)

-- include: clock
local cursor, arrival, size = ARGV[2], ARGV[3], ARGV[4]
local holders, requests = {}, {}
if cursor ~= '' then
  -- A scan by cursor misses no ticket that is there all the time: pages by rank would, for extensions move them.
  local scanned = call('ZSCAN', tickets, cursor, 'COUNT', size)
  -- An array within a reply counts from 0 in ioredis-mock.
  local entries = scanned[2]
  local first = type(entries) == 'table' and 1 or 0
  for i = first, first + #entries - 1, 2 do
    local id, expiry = entries[i], entries[i + 1] * 1.0
    local record = expiry > now and call('HGET', meta, id)
    if record then
      holders[#holders + 1] = id .. ' ' .. format('%.0f', expiry) .. ' ' .. record
    end
  end
  cursor = scanned[1] ~= '0' and scanned[1] or ''
end
if arrival ~= '' then
  local queued = call('ZRANGEBYSCORE', queue, '(' .. arrival, '+inf', 'WITHSCORES', 'LIMIT', 0, size)
  arrival = ''
  for i = 1, #queued, 2 do
    local lease = call('ZSCORE', waiters, match(queued[i], '^[^.]+'))
    arrival = format('%.0f', queued[i + 1] * 1.0)
    if lease and lease * 1.0 > now then
      requests[#requests + 1] = queued[i] .. ' ' .. arrival .. ' ' .. (call('HGET', meta, queued[i]) or '?')
    end
  end
end
local counting = format('%.0f', (call('HGET', meta, 'limit') or own_limit) * 1.0)
local entries = table.concat(holders, ';') .. '|' .. table.concat(requests, ';')
return now_text .. '|' .. counting .. '|' .. cursor .. '|' .. arrival .. '|' .. entries
