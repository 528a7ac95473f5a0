-- Fragment of acquire.lua: the other usual cases: many requests, `top` is in use, or a request
-- joins the queue of requests without options.
-- A function gives nil if its case does not apply, or a key is lost.
-- include: keys
-- on demand: rules_or_slow = acquire-under-rules

-- All permits are held, by tickets of one each. Nil if a key was lost or the id is known.
local function queue_one(tickets, info, id, arrival, waits, limit, ttl, label)
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
    redis.call('PEXPIRE', queue, 'KEYS_LIFE_MS')
    redis.call('PEXPIRE', requests, 'KEYS_LIFE_MS')
    redis.call('PEXPIRE', clients, 'KEYS_LIFE_MS')
  end
  local expiry = redis.call('ZRANGE', tickets, '0', '0', 'WITHSCORES')[2]
  -- Some servers write large numbers with a point, which comes before digits; none has expired.
  return QUEUED .. arrival .. '///' .. (expiry > now_text and expiry or string.format('%d', expiry))
end

-- Permits for many are free.
local function grant_many(tickets, info, ids, run, token, held)
  local total, adds, fields, expires = #ids, {}, {}, string.format('%d', run.now + run.ttl)
  -- Tokens are written as a common start and six digits: printing a whole token takes as long as a
  -- Redis call.
  local start, digits = string.sub(token, 1, 10), string.sub(token, 11) + 0
  if digits + total > 1000000 then
    return nil
  end
  local record = '%d ' .. start .. '%06d ' .. string.gsub(run.label, '%%', '%%%%')
  for i = 1, total do
    local k = 2 * i
    adds[k - 1], adds[k] = expires, ids[i]
    fields[k - 1], fields[k] = ids[i], string.format(record, held + i - 1, digits + i - 1)
  end
  if redis.call('ZADD', tickets, unpack(adds)) < total then
    -- Some are known already. The others wait for the slow path.
    local records = redis.call('HMGET', info, unpack(ids))
    for i = 1, total do
      redis.call('ZREM', tickets, not records[i] and ids[i] or '')
    end
    return nil
  end
  fields[2 * total + 1] = 'state'
  fields[2 * total + 2] = string.format('%s%06d ', start, digits + total - 1) .. run.limit
  redis.call('HSET', info, unpack(fields))
  return string.format('*%d %d ', total, held) .. token
end

-- A permit is free. `top`: nil, or ' top:' and the slot from which on none is in use; `label`: with
-- the group and the charges; `rules`: the state behind `top`.
local function grant_one(tickets, info, id, run, token, held, top, label, rules)
  local slots, expires = top and key_of(tickets, 'slots'), string.format('%d', run.now + run.ttl)
  local slot = not top and string.format('%d', math.max(held, 0)) or redis.call('ZRANGE', slots, '0', '0')[1]
  if not slot or string.find(slot, '-', 1, true) or redis.call('ZADD', tickets, expires, id) == 0 then
    return nil
  elseif top then
    redis.call('ZREM', slots, slot)
    top = held + 1 < string.sub(top, 6) + 0 and top
  end
  if held < 0 then
    -- The name was never used, or not for a day.
    local life = string.format('%d', KEYS_LIFE_MS + math.ceil(run.ttl / 1000))
    redis.call('ZADD', tickets, 'NEVER', SIGN)
    redis.call('HSET', info, 'layout', 'LAYOUT')
    redis.call('PEXPIRE', tickets, life)
    redis.call('PEXPIRE', info, life)
  end
  local ticket = slot .. ' ' .. token
  redis.call('HSET', info, id, ticket .. ' ' .. label, 'state', token .. ' ' .. run.limit .. (top or '') .. rules)
  return ticket
end

-- Permits are free, and nothing but 'top' is in use besides.
local function grant_free(tickets, info, text, run, token, held, top)
  local first, ids = string.byte(text), {}
  if first == LIST then
    ids = not top and held >= 0 and not string.find(text, '|', 1, true) and cjson.decode(text) or ids
    return ids[1] and #ids <= run.limit - held and grant_many(tickets, info, ids, run, token, held)
  end
  local id = first == TRY and string.sub(text, 2) or text
  return first ~= ORDERED and grant_one(tickets, info, id, run, token, held, top, run.label, '')
end

-- Made once, for all semaphores of a call.
local slow_path, grant_under_rules, slow

-- `token`: nil if the slow path must grant the permit; `more`: the state behind the limit.
local function acquire_usual(tickets, info, text, token, held, more, limit, life, label, late, inbox, is_trial)
  local is_free, first, reply = token and (held < 1 or held < limit + 0), string.byte(text), nil
  if token and not is_free and first ~= TRY and first ~= ORDERED and first ~= LIST and (not more or more == ' queue') then
    reply = queue_one(tickets, info, text, token, more, limit, life, label)
  end
  if not reply then
    local run = { inbox = inbox, now = now_text, limit = limit, ttl = life + 0, life = life, label = label, late = late }
    run.is_trial = is_trial
    if is_free and (not more or string.find(more, '^ top:%d+$')) then
      reply = grant_free(tickets, info, text, run, token, held, more)
    end
    if not reply then
      if not slow_path then
        slow_path, grant_under_rules = rules_or_slow()
      end
      reply = token and grant_under_rules(tickets, info, text, run, token, held, more or '', grant_one)
      slow = slow or not reply and slow_path()
      reply = reply or slow(tickets, info, text, run)
    end
  end
  return reply
end

return acquire_usual
