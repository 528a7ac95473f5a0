-- Fragment of release.lua: all permits are held, by tickets of one each, and the head of the queue,
-- which lives, waits for one. `held`: none of these has expired. Nil where that is not so.

-- include: tell
-- The head of the queue, and its client. With a second dot it asks for many permits. Patterns would
-- cost as much as a Redis call.
local function living_head(queue, now_text)
  local head = redis.call('ZRANGEBYSCORE', queue, '0', '+inf', 'LIMIT', '0', '1')[1]
  local dot = head and string.find(head, '.', 1, true)
  if not dot or string.find(head, '.', dot + 1, true) then
    return nil
  end
  local client = string.sub(head, 1, dot - 1)
  local lease = redis.call('ZSCORE', queue, '@' .. client)
  return lease and lease + 9e15 > now_text + 0 and head, client
end

-- Writes the ticket of one under the id of the other.
local function change_hands(tickets, meta, queue, id, head, record, state, expires)
  redis.call('ZREM', tickets, id)
  redis.call('HDEL', meta, id)
  redis.call('ZADD', tickets, expires, head)
  redis.call('HSET', meta, head, record, 'state', state)
  if string.find(state, ';', 1, true) then
    redis.call('ZREM', queue, head)
  else
    redis.call('DEL', queue)
  end
end

local function hand_over(tickets, meta, queue, id, run, held, state)
  local now_text, last, own, waiting = run.now, string.match(state, '^(%d+) (%d+);(%d+)$')
  if own ~= run.limit or held ~= run.limit + 0 then
    return nil
  end
  local head, client = living_head(queue, now_text)
  local records = head and redis.call('HMGET', meta, id, head) or {}
  local slot = string.match(records[1] or '', '^(%d+) ')
  local life, label = string.match(records[2] or '', '^(%d+);(.*)$')
  if not slot or not life or last < string.sub(now_text, 1, 6) or redis.call('HLEN', meta) ~= held + waiting + 2 then
    return nil
  end
  local token = last < now_text and now_text or string.format('%d', last + 1)
  local expires, ticket = string.format('%d', now_text + math.min(life + 0, CLAIM_TIME_US)), slot .. ' ' .. token
  local rest = waiting == '1' and '' or string.format(';%d', waiting - 1)
  change_hands(tickets, meta, queue, id, head, ticket .. ' ' .. label, token .. ' ' .. own .. rest, expires)
  local line = head .. ' ' .. ticket .. ' ' .. expires
  if string.sub(run.inbox, -1 - #client) == ':' .. client then
    return '1//' .. line .. '/'
  end
  tell(run.inbox, meta, client, line)
  return '1'
end
