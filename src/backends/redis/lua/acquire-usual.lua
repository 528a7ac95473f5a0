-- Fragment of acquire.lua: all cases besides a free permit of a semaphore that has nothing else.
-- include: keys
-- on demand: free_paths = acquire-free

-- All permits are held, by tickets of one each. Nil if a key was lost or the id is known.
local function queue_one(tickets, info, id, arrival, waits, limit, ttl, label)
  local life = 'KEYS_LIFE_MS'
  local queue, requests, clients = key_of(tickets, 'queue'), key_of(tickets, 'requests'), key_of(tickets, 'clients')
  if waits and redis.call('EXISTS', queue, requests, clients) < 3
    or redis.call('HEXISTS', info, id) == 1
    or redis.call('HSETNX', requests, id, arrival .. ' ' .. ttl .. ' ' .. label) == 0 then
    return nil
  end
  redis.call('HSET', info, 'state', arrival .. ' ' .. limit .. ' queue')
  redis.call('ZADD', queue, arrival, id)
  redis.call('ZADD', clients, string.format('%d', now_text + WAITER_LEASE_US), string.sub(id, 1, string.find(id, '.', 1, true) - 1))
  if not waits then
    redis.call('PEXPIRE', queue, life)
    redis.call('PEXPIRE', requests, life)
    redis.call('PEXPIRE', clients, life)
  end
  local expiry = redis.call('ZRANGE', tickets, '0', '0', 'WITHSCORES')[2]
  -- Some servers write large numbers with a point, which comes before digits; none has expired.
  return QUEUED .. arrival .. '///' .. (expiry > now_text and expiry or string.format('%d', expiry))
end

local grant
-- `token`: nil if the slow path must grant the permit; `more`: the state behind the limit.
local function acquire_any(tickets, info, text, token, held, more, limit, life, label, late, inbox, is_trial)
  local reply
  if token and held >= limit + 0 and (not more or more == ' queue') then
    local first = string.byte(text)
    reply = first ~= TRY and first ~= ORDERED and first ~= LIST and queue_one(tickets, info, text, token, more, limit, life, label)
  end
  if not reply then
    grant = grant or free_paths()
    local run = { inbox = inbox, now = now_text, limit = limit, ttl = life + 0, life = life, label = label, late = late }
    run.is_trial = is_trial
    reply = grant(tickets, info, text, run, token, held, more)
  end
  return reply
end

return acquire_any
