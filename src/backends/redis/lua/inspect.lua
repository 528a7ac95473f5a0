-- One page of what a semaphore holds. Writes nothing; what has expired is not counted.
--
-- KEYS  tickets, meta, queue
-- ARGV  1 cursor among the tickets, '' when done   2 place after which to continue among the
--       waiting requests, '' when done   3 entries in a page
-- Reply 'now|limit|next cursor|next place|holders|waiters|rate': 'id expiry slots token label;…'
--       and 'id place label;…'. limit: as in known-limit.lua. rate: 'rate/tat' as in rate.lua
-- Cost  O(log n + page)

-- include: time known-limit
local function holders(tickets, meta, cursor, size, now)
  -- A scan by cursor misses no ticket that is there all the time: pages by rank would.
  local scanned = redis.call('ZSCAN', tickets, cursor, 'COUNT', size)
  local entries, lines = scanned[2], {}
  for i = 1, #entries, 2 do
    local id, expiry = entries[i], entries[i + 1]
    local record = string.find(id, '.', 2, true) and expiry + 0 > now and redis.call('HGET', meta, id)
    if record then
      lines[#lines + 1] = id .. ' ' .. string.format('%d', expiry) .. ' ' .. record
    end
  end
  return table.concat(lines, ';'), scanned[1] ~= '0' and scanned[1] or ''
end

local function waiters(queue, meta, place, size, now)
  local found = redis.call('ZRANGEBYSCORE', queue, '(' .. place, '+inf', 'WITHSCORES', 'LIMIT', 0, size)
  local lines, last = {}, ''
  for i = 1, #found, 2 do
    local id = found[i]
    last = string.format('%d', found[i + 1])
    local lease = redis.call('ZSCORE', queue, '@' .. string.match(id, '^[^.]+'))
    if lease and lease + 9e15 > now then
      local label = string.match(redis.call('HGET', meta, id) or '', ';(.*)$')
      lines[#lines + 1] = id .. ' ' .. last .. ' ' .. (label or '?')
    end
  end
  return table.concat(lines, ';'), last
end

local now = now_text + 0
local tickets, meta, queue = KEYS[1], KEYS[2], KEYS[3]
local rate = redis.call('HMGET', meta, 'rate', 'tat')
local cursor, place, held, waiting = ARGV[1], ARGV[2], '', ''
if cursor ~= '' then
  held, cursor = holders(tickets, meta, cursor, ARGV[3], now)
end
if place ~= '' then
  waiting, place = waiters(queue, meta, place, ARGV[3], now)
end
local known = (rate[1] or '') .. '/' .. (rate[2] or '')
return table.concat({ now_text, known_limit(meta), cursor, place, held, waiting, known }, '|')
