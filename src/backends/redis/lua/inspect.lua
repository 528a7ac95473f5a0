-- One page of what a semaphore holds. Writes nothing; what has expired is not counted.
--
-- KEYS  tickets, meta, queue
-- ARGV  1 cursor among the tickets, '' when done   2 place after which to continue among the
--       waiting requests, or '~' and a cursor among them where some have options, '' when done
--       3 entries in a page
-- Reply 'now|limit|next cursor|next place|holders|waiters|rate|order': 'id expiry slots token
--       label;…' and 'id place label;…', where some have options 'id place label priority weight
--       score lives group':
--       score as in the queue, see order.lua, lives 1 or 0. limit: as in
--       known-limit.lua. rate: 'rate/tat' as in rate.lua. order: as in
--       order.lua
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

local function is_alive(queue, id, now)
  local lease = redis.call('ZSCORE', queue, '@' .. string.match(id, '^[^.]+'))
  return lease and lease + 9e15 > now
end

local function waiters(queue, meta, place, size, now)
  local found = redis.call('ZRANGEBYSCORE', queue, '(' .. place, '+inf', 'WITHSCORES', 'LIMIT', 0, size)
  local lines, last = {}, ''
  for i = 1, #found, 2 do
    local id = found[i]
    last = string.format('%d', found[i + 1])
    if is_alive(queue, id, now) then
      local label = string.match(redis.call('HGET', meta, id) or '', ';(.*)$')
      lines[#lines + 1] = id .. ' ' .. last .. ' ' .. (label or '?')
    end
  end
  return table.concat(lines, ';'), last
end

-- One that waits where some have options.
local function line_of(queue, meta, member, score, now)
  local place, id = string.match(member, '^(%d+) (.*)$')
  id, score = id or member, string.format('%d', score)
  local record = redis.call('HGET', meta, id) or ''
  local label, options, group = string.match(record, '^%d+;([^;]*);%d+ (%d %d+) (%S*)$')
  label = label or string.match(record, ';(.*)$') or '?'
  local lives = is_alive(queue, id, now) and ' 1 ' or ' 0 '
  return id .. ' ' .. (place or score) .. ' ' .. label .. ' ' .. (options or '0 1') .. ' ' .. score .. lives .. (group or '')
end

local function waiters_in_order(queue, meta, cursor, size, now)
  local scanned = redis.call('ZSCAN', queue, cursor, 'COUNT', size)
  local entries, lines = scanned[2], {}
  for i = 1, #entries, 2 do
    if string.find(entries[i], '^[^@&]') then
      lines[#lines + 1] = line_of(queue, meta, entries[i], entries[i + 1], now)
    end
  end
  return table.concat(lines, ';'), scanned[1] ~= '0' and '~' .. scanned[1] or ''
end

local now = now_text + 0
local tickets, meta, queue = KEYS[1], KEYS[2], KEYS[3]
local rate = redis.call('HMGET', meta, 'rate', 'tat', 'order')
local cursor, place, held, waiting = ARGV[1], ARGV[2], '', ''
if cursor ~= '' then
  held, cursor = holders(tickets, meta, cursor, ARGV[3], now)
end
-- Requests have an order, by the policy 'o', or the last call could not say: see write_state.
if place == '0' and string.find(redis.call('HGET', meta, 'state') or '', ' [0%l]*[0o]%l*$') then
  place = '~0'
end
if string.sub(place, 1, 1) == '~' then
  waiting, place = waiters_in_order(queue, meta, string.sub(place, 2), ARGV[3], now)
elseif place ~= '' then
  waiting, place = waiters(queue, meta, place, ARGV[3], now)
end
local known = (rate[1] or '') .. '/' .. (rate[2] or '')
return table.concat({ now_text, known_limit(meta), cursor, place, held, waiting, known, rate[3] or '' }, '|')
