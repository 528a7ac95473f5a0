-- What several semaphores hold, in short. Writes nothing; what has expired is not counted. Ends
-- after some thousand tickets: the caller asks again for those that are not in the reply.
--
-- KEYS  tickets, meta, queue of each semaphore
-- ARGV  none
-- Reply 'now|semaphore|…', a semaphore being 'limit held waiting place tokens', or '!why' where it
--       cannot be read. limit: as in known-limit.lua. place: of the first that waits, or 0. tokens:
--       of the 32 tickets at most that expire last, with commas between
-- Cost  O(log n + tickets), and with a dead process in the queue O(waiting requests)

-- include: time known-limit
local looked = 0

local function held_by(tickets)
  local ids = redis.call('ZRANGEBYSCORE', tickets, '(' .. now_text, '(9000000000000000')
  local held = 0
  for i = 1, #ids do
    -- See parts_of in semaphore.lua.
    local permits = string.match(ids[i], '^[^.]*%.?[^.~]*%.?(%d*)')
    held = held + (permits == '' and 1 or permits + 0)
  end
  looked = looked + #ids
  return held, ids
end

local function newest_tokens(meta, ids)
  if not ids[1] then
    return ''
  end
  local records = redis.call('HMGET', meta, unpack(ids, math.max(1, #ids - 31)))
  local tokens = {}
  for i = 1, #records do
    tokens[#tokens + 1] = string.match(records[i] or '', '^[%d,-]+ (%d+) ')
  end
  return table.concat(tokens, ',')
end

-- Those of the members that live, and the first of them.
local function living_among(queue, members)
  local living, first = 0, nil
  looked = looked + #members
  for i = 1, #members do
    local lease = redis.call('ZSCORE', queue, '@' .. string.match(members[i], '([^. ]+)%.'))
    if lease and lease + 9e15 > now_text + 0 then
      living, first = living + 1, first or members[i]
    end
  end
  return living, first
end

-- How many wait, and the place of the first; in both forms of order.lua.
local function waiting_in(queue)
  local dead = redis.call('ZCOUNT', queue, '(-9000000000000000', string.format('%d', now_text - 9e15))
  local first = redis.call('ZRANGEBYSCORE', queue, '0', '+inf', 'LIMIT', '0', dead == 0 and '1' or '-1')
  local behind = { queue, '-1700000000000000', '-1500000000000000' }
  local living, member = redis.call('ZCOUNT', queue, '0', '+inf') + redis.call('ZCOUNT', unpack(behind)), first[1]
  if dead > 0 then
    local before, follower = living_among(queue, redis.call('ZRANGEBYSCORE', unpack(behind)))
    living, member = living_among(queue, first)
    living, member = living + before, member or follower
  end
  return living, member and (string.match(member, '^(%d+) ') or redis.call('ZSCORE', queue, member)) or 0
end

local function summary(tickets, meta, queue)
  local held, ids = held_by(tickets)
  local waiting, place = waiting_in(queue)
  local counts = string.format(' %d %d %d ', held, waiting, place)
  return known_limit(meta) .. counts .. newest_tokens(meta, ids)
end

local parts = { now_text }
for i = 1, #KEYS, 3 do
  if looked > 5000 then
    break
  end
  local is_read, text = pcall(summary, KEYS[i], KEYS[i + 1], KEYS[i + 2])
  if not is_read then
    local why = type(text) == 'table' and text.err or text
    text = '!' .. string.gsub(tostring(why), '[|%c]', ' ')
  end
  parts[#parts + 1] = text
end
return table.concat(parts, '|')
