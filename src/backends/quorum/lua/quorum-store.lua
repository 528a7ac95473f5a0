-- Fragment: the keys that one master of a quorum has for a semaphore, and the loop over the
-- semaphores of a call.
--
-- KEYS  of each semaphore: qslots, a sorted set, 'slot id' -> expiry (microseconds); qmeta, a hash:
--       id of a ticket -> 'slots token attempt granted label' with slots as in 0,3,7; last -> the
--       highest token that was given or named; limit -> the limit of the last caller; sets -> see
--       quorum-sets. A ticket is held if both keys have it: without either key the tickets are
--       lost, and nothing else. Ids have a dot.
-- ARGV  of each semaphore: the number of its arguments, then its arguments
-- Reply a line with the time (microseconds), then a line for each semaphore: '!' and an error if
--       its call failed, which fails no other

-- An entry of `sets`: its end, = or nothing, and the set.
local SET = '(%d+) (=?)([^;]+);'

-- Drops expired tickets. `used` (slot -> true), `count` and `lowest` (no slot below it is free) are
-- read later.
local function open(slots, meta, now_text)
  local found = redis.call('HMGET', meta, 'last', 'limit', 'sets')
  local sem = { slots = slots, meta = meta, now_text = now_text, now = now_text + 0, used = {}, count = 0, lowest = 0 }
  sem.last, sem.last_limit = (found[1] or 0) + 0, found[2]
  sem.sets = string.gsub(found[3] or '', SET, function(till)
    return till + 0 <= sem.now and '' or nil
  end)
  local gone = redis.call('ZRANGEBYSCORE', slots, '-inf', found[1] and now_text or '+inf')
  for i = 1, #gone do
    redis.call('HDEL', meta, string.match(gone[i], ' (.*)'))
    redis.call('ZREM', slots, gone[i])
  end
  return sem
end

local function clear(sem, ticket)
  for slot in string.gmatch(ticket.slots, '%d+') do
    if redis.call('ZREM', sem.slots, slot .. ' ' .. ticket.id) == 1 then
      sem.used[slot + 0], sem.count, sem.lowest = nil, sem.count - 1, 0
    end
  end
  redis.call('HDEL', sem.meta, ticket.id)
end

-- Finds a ticket that has all its slots; drops any other. `text`: the ticket as a holding.
local function find(sem, id)
  local text, slots, attempt, granted = string.match(redis.call('HGET', sem.meta, id) or '', '^(([%d,]+) %d+ (%d+)) (%d+) ')
  local ticket = slots and { id = id, text = text, slots = slots, attempt = attempt + 0, granted = granted }
  for slot in string.gmatch(slots or '', '%d+') do
    if not redis.call('ZSCORE', sem.slots, slot .. ' ' .. id) then
      return clear(sem, ticket)
    end
  end
  return ticket
end

local function run_on_each(keys, args, now_text, operation)
  local lines, from = { now_text }, 1
  for key = 1, #keys, 2 do
    local done, reply = pcall(operation, keys[key], keys[key + 1], now_text, { unpack(args, from + 1, from + args[from]) })
    lines[#lines + 1] = done and reply or '!' .. (type(reply) == 'table' and reply.err or 'ERR ' .. tostring(reply))
    from = from + 1 + args[from]
  end
  return table.concat(lines, '\n')
end
