-- Fragment of acquire.lua: usual cases besides one permit that is free. Each gives nil where it does not apply.

local function grant_many(tickets, meta, limit, ids, held, token, label, expires)
  local total, adds, fields = #ids, {}, {}
  -- Tokens are written as a common start and six digits, as printing a whole one takes as long as a Redis call.
  local start, digits = string.sub(token, 1, 10), string.sub(token, 11) + 0
  if digits + total > 1000000 then
    return nil
  end
  local record = '%d ' .. start .. '%06d ' .. string.gsub(label, '%%', '%%%%')
  for i = 1, total do
    local k = 2 * i
    adds[k - 1], adds[k] = expires, ids[i]
    fields[k - 1], fields[k] = ids[i], string.format(record, held + i - 1, digits + i - 1)
  end
  -- Where an id is known already, slow.lua sets right what was written.
  if redis.call('ZADD', tickets, unpack(adds)) < total then
    return nil
  end
  fields[2 * total + 1], fields[2 * total + 2] = 'state', string.format('%s%06d ', start, digits + total - 1) .. limit
  redis.call('HSET', meta, unpack(fields))
  return string.format('*%d %d ', total, held) .. token
end

-- A name that was never used, or not for a day.
local function grant_first(tickets, meta, queue, limit, id, label, ttl, expires)
  if redis.call('EXISTS', meta, queue) > 0 then
    return nil
  end
  local life = string.format('%d', KEYS_LIFE_MS + math.ceil(ttl / 1000))
  redis.call('ZADD', tickets, '9000000000000000', '.', expires, id)
  redis.call('HSET', meta, 'layout', '2', id, '0 ' .. now_text .. ' ' .. label, 'state', now_text .. ' ' .. limit)
  redis.call('PEXPIRE', tickets, life)
  redis.call('PEXPIRE', meta, life)
  return '0 ' .. now_text
end

-- All permits are held, by tickets of one each.
local function queue_one(tickets, meta, queue, limit, id, label, ttl, place, waiting)
  if redis.call('HSETNX', meta, id, string.format('%d;', ttl) .. label) == 0 then
    return nil
  end
  redis.call('HSET', meta, 'state', place .. ' ' .. limit .. string.format(';%d', waiting + 1))
  redis.call('ZADD', queue, place, id, string.format('%d', now + WAITER_LEASE_US - 9e15), '@' .. string.match(inbox, '[^:]*$'))
  redis.call('PEXPIRE', queue, 'KEYS_LIFE_MS')
  local expiry = redis.call('ZSCORE', tickets, redis.call('ZRANGE', tickets, '0', '0')[1])
  return 'q' .. place .. '///' .. string.format('%d', expiry)
end

local function attempt(tickets, meta, queue, limit, text, ttl, label, expires, token, held, state, waiting)
  local first = string.byte(text)
  if first == 91 then
    local ids = token and waiting == 0 and not string.find(text, '|', 1, true) and cjson.decode(text)
    if ids and ids[1] and held + #ids <= limit + 0 then
      return grant_many(tickets, meta, limit, ids, held, token, label, expires)
    end
    return nil, held, state
  elseif not token then
    local id = first == 63 and string.sub(text, 2) or text
    return held == -1 and not state and grant_first(tickets, meta, queue, limit, id, label, ttl, expires) or nil
  elseif held >= limit + 0 and first ~= 63 then
    return queue_one(tickets, meta, queue, limit, text, label, ttl, token, waiting)
  end
  return nil, held, state
end
