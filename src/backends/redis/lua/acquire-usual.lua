-- Fragment of acquire.lua: all cases besides a free permit of a semaphore that has nothing else.
-- include: keys
-- on demand: free_paths = acquire-free
-- All permits are held, by tickets of one each. Nil if a key was lost or the id is known.
local function queue_one(tickets, info, id, run, arrival, waits)
  local now, life = run.now + 0, 'KEYS_LIFE_MS'
  local queue, requests, clients = key_of(tickets, 'queue'), key_of(tickets, 'requests'), key_of(tickets, 'clients')
  if waits and redis.call('EXISTS', queue, requests, clients) < 3
    or redis.call('HEXISTS', info, id) == 1
    or redis.call('HSETNX', requests, id, arrival .. ' ' .. run.life .. ' ' .. run.label) == 0 then
    return nil
  end
  redis.call('HSET', info, 'state', arrival .. ' ' .. run.limit .. ' queue')
  redis.call('ZADD', queue, arrival, id)
  redis.call('ZADD', clients, string.format('%d', now + WAITER_LEASE_US), string.sub(id, 1, string.find(id, '.', 1, true) - 1))
  if not waits then
    redis.call('PEXPIRE', queue, life)
    redis.call('PEXPIRE', requests, life)
    redis.call('PEXPIRE', clients, life)
  end
  local expiry = redis.call('ZRANGE', tickets, '0', '0', 'WITHSCORES')[2]
  -- Some servers write large numbers with a point, which comes before digits; none has expired.
  return QUEUED .. arrival .. '///' .. (expiry > run.now and expiry or string.format('%d', expiry))
end

local grant
-- `token`: nil if the slow path must grant the permit; `more`: the state behind the limit.
local function acquire_any(tickets, info, text, run, token, held, more)
  local reply, first
  if token and held >= run.limit + 0 and (not more or more == ' queue') then
    first = string.byte(text)
    reply = first ~= TRY and first ~= ORDERED and first ~= LIST and queue_one(tickets, info, text, run, token, more)
  end
  if not reply then
    grant = grant or free_paths()
    reply = grant(tickets, info, text, run, token, held, more)
  end
  return reply
end

return acquire_any
