-- The figures of several semaphores. Writes nothing.
--
-- 1. Permits are counted by the ids of tickets that have not expired.
-- 2. The records of the tickets that expire last give the newest tokens.
-- 3. All requests are counted; if a client has died, each is counted by its lease.
-- 4. A semaphore that cannot be read fails no other.
-- 5. It ends after some thousand tickets: the caller asks again for the semaphores that are left.
--
-- KEYS  tickets, info of each semaphore, see semaphore.lua
-- ARGV  none
-- Reply 'now|semaphore|…', a semaphore being 'held waiting arrival tokens state', or '!why' where
--       it cannot be read. arrival: of the first that waits, or 0. tokens: of the 32 tickets at
--       most that expire last, with commas between. state: see close.lua
-- Cost  O(log n + tickets + flows), and with a dead process or a parked request O(waiting requests)

-- include: time keys records
local looked = 0

-- How many permits are held, and the tokens of the tickets that expire last.
local function held_by(tickets, info)
  local ids, held, tokens = redis.call('ZRANGEBYSCORE', tickets, '(' .. now_text, '(NEVER'), 0, {}
  for i = 1, #ids do
    local _, permits = parts_of(ids[i])
    held = held + permits
  end
  looked = looked + #ids
  local records = ids[1] and redis.call('HMGET', info, unpack(ids, math.max(1, #ids - 31))) or {}
  for i = 1, #records do
    tokens[#tokens + 1] = string.match(records[i] or '', '^[%d,-]+ (%d+) ')
  end
  return held, table.concat(tokens, ',')
end

-- How many requests wait, and the arrival of the first, which is the head of its flow. If a client
-- may have died or a request waits aside, how many of living clients, and the arrival of the first.
local function waiting_in(tickets, state)
  local requests, clients = key_of(tickets, 'requests'), key_of(tickets, 'clients')
  local waiting, first = redis.call('HLEN', requests), redis.call('ZRANGE', key_of(tickets, 'queue'), '0', '0', 'WITHSCORES')[2]
  for priority in string.gmatch(state, ' (%d):') do
    for _, head in ipairs(redis.call('ZRANGE', key_of(tickets, 'flows:' .. priority), '0', '-1')) do
      local arrival = string.match(head, '^%d+')
      first = first and first < arrival and first or arrival
    end
  end
  local is_parked = string.find(state, ' parked', 1, true)
  if waiting == 0 or first and not is_parked and redis.call('ZCOUNT', clients, '-inf', now_text) == 0 then
    return waiting, first or '0'
  end
  local records, living, earliest = redis.call('HGETALL', requests), 0, '0'
  looked = looked + #records / 2
  for i = 1, #records, 2 do
    local lease = redis.call('ZSCORE', clients, string.match(records[i], '^[^.]+'))
    local arrival = string.match(records[i + 1], '^%d+')
    if lease and lease + 0 > now_text + 0 then
      living, earliest = living + 1, earliest ~= '0' and earliest < arrival and earliest or arrival
    end
  end
  return living, earliest
end

local function summary(tickets, info)
  local state = redis.call('HGET', info, 'state') or ''
  local held, tokens = held_by(tickets, info)
  return string.format('%d %d %d ', held, waiting_in(tickets, state)) .. tokens .. ' ' .. state
end

local parts = { now_text }
for i = 1, #KEYS, 2 do
  if looked > 5000 then
    break
  end
  local is_read, text = pcall(summary, KEYS[i], KEYS[i + 1])
  if not is_read then
    text = '!' .. string.gsub(text.err or text, '[|%c]', ' ')
  end
  parts[#parts + 1] = text
end
return table.concat(parts, '|')
