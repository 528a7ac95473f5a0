-- Fragment of acquire.lua: permits are free. A function gives nil if its case does not apply.
-- on demand: rules_or_slow = acquire-under-rules

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
-- the group; `rules`: the state behind that.
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

local other
local function grant_free(tickets, info, text, run, token, held, more)
  local first, id, label, reply = string.byte(text), text, run.label, nil
  if not token or held >= run.limit + 0 and held > 0 then
    reply = nil
  elseif first == LIST then
    local ids = not more and held >= 0 and not string.find(text, '|', 1, true) and cjson.decode(text) or {}
    reply = ids[1] and #ids <= run.limit - held and grant_many(tickets, info, ids, run, token, held)
  elseif not more or string.find(more, '^ top:%d+$') then
    if first == ORDERED then
      -- Of one permit, with no costs and no rules.
      local group
      id, group = string.match(text, '^@([^.|]+%.[^.|]+)|%a|%d+|%d %d+ ([^ |]*)|%d*|$')
      label = (group or '') == '' and label or label .. ' ' .. group
    elseif first == TRY then
      id = string.sub(text, 2)
    end
    reply = id and grant_one(tickets, info, id, run, token, held, more, label, '')
  end
  if not reply then
    other = other or rules_or_slow()
    reply = other(tickets, info, text, run, token, held, more, grant_one)
  end
  return reply
end

return grant_free
