-- Fragment of release.lua: usual cases besides one ticket for which nobody waits. Each gives nil where it does not apply; and what was read.

-- Those with the highest slots, and nobody waits.
local function release_many(tickets, meta, limit, ids)
  local state, held, total = redis.call('HGET', meta, 'state'), redis.call('ZCARD', tickets) - 1, #ids
  if not state or string.sub(state, 18) ~= limit or total > held or total == 0 or redis.call('ZCOUNT', tickets, '0', now_text) > 0 then
    return nil, held, state
  end
  local records, lowest = redis.call('HMGET', meta, unpack(ids)), held - total
  for i = 1, total do
    local slot = string.match(records[i] or '', '^%d+ ')
    if not slot or slot + 0 < lowest or slot + 0 >= held then
      return nil, held, state
    end
  end
  -- Where a ticket or its record is missing, slow.lua counts again.
  if redis.call('ZREM', tickets, unpack(ids)) < total or redis.call('HDEL', meta, unpack(ids)) < total then
    return nil
  end
  return string.rep('1', total)
end

-- The head of the queue, whose process is alive; nil where it asks for more than one permit.
local function living_head(queue)
  local head = redis.call('ZRANGEBYSCORE', queue, '0', '+inf', 'LIMIT', '0', '1')[1]
  local who = string.match(head or '', '^([%w_-]+)%.%w+$')
  local lease = who and redis.call('ZSCORE', queue, '@' .. who)
  if lease and lease + 9e15 > now then
    return head, who
  end
end

-- Writes the ticket of one under the id of the other, which waited, with a token that is `place` of none before.
local function change_hands(tickets, meta, queue, id, head, record, token, limit, waiting, expires)
  local rest = waiting > 1 and string.format(';%d', waiting - 1) or ''
  redis.call('ZREM', tickets, id)
  redis.call('HDEL', meta, id)
  redis.call('ZADD', tickets, expires, head)
  redis.call('HSET', meta, head, record, 'state', token .. ' ' .. limit .. rest)
  if rest == '' then
    redis.call('DEL', queue)
  else
    redis.call('ZREM', queue, head)
  end
end

-- All permits are held, by tickets of one each, and somebody waits for one.
local function hand_over(tickets, meta, queue, limit, id, held, state)
  local last, own, waiting = string.match(state, '^(%d+) (%d+);(%d+)$')
  if own ~= limit or held ~= limit + 0 or redis.call('ZCOUNT', tickets, '0', now_text) > 0 then
    return nil, held, state
  end
  local head, who = living_head(queue)
  local records = head and redis.call('HMGET', meta, id, head) or {}
  local slot = string.match(records[1] or '', '^(%d+) %d+ ')
  local life, label = string.match(records[2] or '', '^(%d+);(.*)$')
  if not slot or not life or last < string.sub(now_text, 1, 6) or redis.call('HLEN', meta) ~= held + waiting + 2 then
    return nil, held, state
  end
  local token = last < now_text and now_text or string.format('%d', last + 1)
  local expires = string.format('%d', now + math.min(life + 0, CLAIM_TIME_US))
  change_hands(tickets, meta, queue, id, head, slot .. ' ' .. token .. ' ' .. label, token, limit, waiting + 0, expires)
  local channels, client = string.match(inbox, '^(.*:)(.*)$')
  local line = head .. ' ' .. slot .. ' ' .. token .. ' ' .. expires
  if who == client then
    return '1//' .. line .. '/'
  end
  redis.pcall('PUBLISH', channels .. who, line .. '|' .. string.match(meta, '{([^{}]*)}[^{}]*$'))
  return '1'
end

local function attempt(tickets, meta, queue, limit, text, held, state)
  if string.byte(text) == 91 then
    return release_many(tickets, meta, limit, cjson.decode(text))
  end
  return hand_over(tickets, meta, queue, limit, text, held, state)
end
