-- Fragment of acquire.lua: usual cases besides one free permit, each nil where it does not apply.

-- Permits for many are free.
local function grant_many(tickets, meta, ids, run, token, held)
  local total, adds, fields, expires = #ids, {}, {}, string.format('%d', run.now + run.ttl)
  -- Tokens are written as a common start and six digits: printing a whole one takes as long as a
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
  -- Where an id is known already, the slow path sets right what was written.
  if redis.call('ZADD', tickets, unpack(adds)) < total then
    return nil
  end
  fields[2 * total + 1] = 'state'
  fields[2 * total + 2] = string.format('%s%06d ', start, digits + total - 1) .. run.limit
  redis.call('HSET', meta, unpack(fields))
  return string.format('*%d %d ', total, held) .. token
end

-- All permits are held, by tickets of one each.
local function queue_one(tickets, meta, queue, id, run, place, waiting)
  local now = run.now + 0
  if redis.call('HSETNX', meta, id, run.life .. ';' .. run.label) == 0 then
    return nil
  end
  redis.call('HSET', meta, 'state', place .. ' ' .. run.limit .. string.format(';%d', waiting + 1))
  if waiting > 0 then
    local first, final = '(-9000000000000000', string.format('%d', now - 9e15)
    if redis.call('ZREMRANGEBYSCORE', queue, first, final) > 0 then
      -- See requests.lua.
      redis.call('ZADD', queue, '-9000000000000000', '@')
    end
  end
  local lease = string.format('%d', now + WAITER_LEASE_US - 9e15)
  redis.call('ZADD', queue, place, id, lease, '@' .. string.match(run.inbox, '^.*:(.*)$'))
  redis.call('PEXPIRE', queue, 'KEYS_LIFE_MS')
  local expiry = redis.call('ZRANGE', tickets, '0', '0', 'WITHSCORES')[2]
  -- Some servers write large numbers with a point, which comes before digits; none has expired.
  return 'q' .. place .. '///' .. (expiry > run.now and expiry or string.format('%d', expiry))
end

local function attempt(tickets, meta, queue, text, run, token, held, waiting)
  local first = string.byte(text)
  if first ~= 91 and first ~= 63 and held >= run.limit + 0 then
    return queue_one(tickets, meta, queue, text, run, token, waiting)
  elseif first == 91 and waiting == 0 and held >= 0 and not string.find(text, '|', 1, true) then
    local ids = cjson.decode(text)
    return ids[1] and held + #ids <= run.limit + 0 and grant_many(tickets, meta, ids, run, token, held) or nil
  end
end
