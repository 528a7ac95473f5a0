-- Fragment of acquire.lua: the other usual cases: many requests, `top` is in use, or a request
-- joins the queue of requests without options.
-- A function gives nil if its case does not apply, or a key is lost.
-- include: keys
-- on demand: rules_or_slow = acquire-under-rules

-- All permits are held, by tickets of one each. Nil if a key was lost or the id is known.
local function queue_one(tickets, info, id, run, arrival, waits)
  local queue, requests, clients = key_of(tickets, 'queue'), key_of(tickets, 'requests'), key_of(tickets, 'clients')
  if waits and redis.call('EXISTS', queue, requests, clients) < 3
    or redis.call('HEXISTS', info, id) == 1
    or redis.call('HSETNX', requests, id, arrival .. ' ' .. run.life .. ' ' .. run.label) == 0 then
    return nil
  end
  redis.call('HSET', info, 'state', arrival .. ' ' .. run.limit .. ' queue')
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

-- Permits for a list of ids are free, and nothing else is in use. Nil if an id is known.
local function grant_many(tickets, info, list, run, token, held)
  local ids, adds, fields, expires = cjson.decode(list), {}, {}, string.format('%d', run.now + run.ttl)
  local total, last, record = #ids, token - 1, '%d %d ' .. string.gsub(run.label, '%%', '%%%%')
  if total < 1 or total > run.limit - held then
    return nil
  end
  for i = 1, total do
    adds[2 * i - 1], adds[2 * i] = expires, ids[i]
    fields[2 * i - 1], fields[2 * i] = ids[i], string.format(record, held + i - 1, last + i)
  end
  if redis.call('ZADD', tickets, unpack(adds)) < total then
    -- Some are known already. The others wait for the slow path.
    for i, record in ipairs(redis.call('HMGET', info, unpack(ids))) do
      redis.call('ZREM', tickets, record and '' or ids[i])
    end
    return nil
  end
  redis.call('HSET', info, 'state', string.format('%d ', last + total) .. run.limit, unpack(fields))
  return string.format('*%d %d ', total, held) .. token
end

-- A permit is free. `label`: with the group and the charges; `rules`: what `more` has of them now.
-- Nil if the id is known, or a range of slots is free.
local function grant_one(tickets, info, id, run, token, held, label, more, rules)
  local top = string.match(more, '^ top:%d+')
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

-- Neither a rate nor budgets nor a cap are in use.
local function without_rules(tickets, info, text, run, token, held, more)
  local first, is_free = string.byte(text), held < run.limit + 0
  if first == LIST then
    return more == '' and held >= 0 and not string.find(text, '|', 1, true) and grant_many(tickets, info, text, run, token, held)
  elseif first == ORDERED then
    return nil
  elseif is_free and (more == '' or string.find(more, '^ top:%d+$')) then
    return grant_one(tickets, info, first == TRY and string.sub(text, 2) or text, run, token, held, run.label, more, '')
  elseif not is_free and first ~= TRY and (more == '' or more == ' queue') then
    return queue_one(tickets, info, text, run, token, more ~= '')
  end
end

-- Made once, for all semaphores of a call.
local slow_path, grant_under_rules, slow

-- `token`: nil if the slow path must grant the permit; `more`: the state behind the limit.
local function acquire_usual(tickets, info, text, run, token, held, more)
  local reply = token and without_rules(tickets, info, text, run, token, held, more)
  if not reply and not slow_path then
    slow_path, grant_under_rules = rules_or_slow()
  end
  reply = reply or token and grant_under_rules(tickets, info, text, run, token, held, more, grant_one)
  slow = slow or not reply and slow_path()
  return reply or slow(tickets, info, text, run)
end

return acquire_usual
