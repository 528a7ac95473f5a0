-- Fragment of release.lua: all cases besides one ticket with the highest slot.
-- include: keys notify
-- on demand: more_paths = release-lower-slot

-- All permits are held, and the client of the queue's head lives.
local function hand_over(tickets, info, id, limit, record, state)
  local slot, inbox = string.match(record, '^(%d+) '), ARGV[1]
  local queue, requests = key_of(tickets, 'queue'), key_of(tickets, 'requests')
  local heads = redis.call('ZRANGE', queue, '0', '1')
  local head = heads[1]
  local dot = head and string.find(head, '.', 1, true)
  -- A second dot means many permits. A pattern would cost as much as a Redis call.
  if not slot or not dot or string.find(head, '.', dot + 1, true) then
    return nil
  end
  local client = string.sub(head, 1, dot - 1)
  local lease = redis.call('ZSCORE', key_of(tickets, 'clients'), client)
  if not lease or lease + 0 <= now_text + 0 then
    return nil
  end
  -- Behind its arrival, of 16 digits.
  local life, label = string.match(redis.call('HGET', requests, head) or '', '^(%d+) (%S*)$', 18)
  if not life then
    return nil
  end
  local token = state < now_text and now_text or string.format('%d', string.sub(state, 1, 16) + 1)
  local expires, ticket = string.format('%d', now_text + math.min(life + 0, CLAIM_TIME_US)), slot .. ' ' .. token
  local mark = token .. ' ' .. limit .. (heads[2] and ' queue' or '')
  redis.call('ZREM', tickets, id)
  redis.call('HDEL', info, id)
  redis.call('ZADD', tickets, expires, head)
  redis.call('HSET', info, head, ticket .. ' ' .. label, 'state', mark)
  if heads[2] then
    redis.call('ZREM', queue, head)
    redis.call('HDEL', requests, head)
  else
    redis.call('DEL', queue, requests, key_of(tickets, 'clients'))
  end
  local line = head .. ' ' .. ticket .. ' ' .. expires
  if string.sub(inbox, -1 - #client) == ':' .. client then
    return '1//' .. line .. '/'
  end
  tell(inbox, tickets, client, line)
  return '1'
end

local release_more
-- `release_one`: of a list alone; `record`: the ticket's, if it is live and none has expired.
local function release_any(tickets, info, text, limit, release_one, held, state, record)
  local reply
  local is_full = record and held == limit + 0 and state >= string.sub(now_text, 1, 6)
  if is_full and string.sub(state, 18) == limit .. ' queue' then
    reply = hand_over(tickets, info, text, limit, record, state)
  end
  if not reply then
    release_more = release_more or more_paths()
    local run = { inbox = ARGV[1], now = now_text, limit = limit }
    reply = release_more(tickets, info, text, run, release_one, held, state, record)
  end
  return reply
end

return release_any
