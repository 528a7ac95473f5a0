-- The figures of several semaphores. Writes nothing.
--
-- 1. Permits are counted by the ids of tickets that have not expired.
-- 2. The records of the tickets that expire last give the newest tokens.
-- 3. Requests are counted by the leases of their clients.
-- 4. A semaphore that cannot be read fails no other.
-- 5. It ends after some thousand tickets and requests: the caller asks again for the semaphores
--    that are left.
--
-- KEYS  tickets, info of each semaphore, see semaphore.lua
-- ARGV  none
-- Reply 'now|semaphore|…', a semaphore being 'held waiting arrival tokens state', or '!why' where
--       it cannot be read. arrival: of the first that waits, or 0. tokens: of the 32 tickets at
--       most that expire last, with commas between. state: see close.lua
-- Cost  O(tickets + waiting requests)

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

-- How many requests of living clients wait, and the arrival of the first.
local function waiting_in(tickets)
  local records, lives, waiting, earliest = redis.call('HGETALL', key_of(tickets, 'requests')), {}, 0, nil
  for _, client in ipairs(redis.call('ZRANGEBYSCORE', key_of(tickets, 'clients'), '(' .. now_text, '+inf')) do
    lives[client] = true
  end
  looked = looked + #records / 2
  for i = 1, #records, 2 do
    local arrival = string.match(records[i + 1], '^%d+')
    if lives[string.match(records[i], '^[^.]+')] then
      waiting, earliest = waiting + 1, earliest and earliest < arrival and earliest or arrival
    end
  end
  return waiting, earliest or '0'
end

local function summary(tickets, info)
  local state = redis.call('HGET', info, 'state') or ''
  local held, tokens = held_by(tickets, info)
  return string.format('%d %d %d ', held, waiting_in(tickets)) .. tokens .. ' ' .. state
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
