-- Fragment of release.lua: usual cases besides the highest slots. No ticket has expired, and each
-- has one permit. A function gives nil if its case does not apply.
-- include: notify
-- on demand: lower_slots = release-lower-slot

-- Writes the ticket of `id` under the id of `head`. `follows`: others wait.
local function change_hands(tickets, info, queue, requests, id, head, record, state, expires, follows)
  redis.call('ZREM', tickets, id)
  redis.call('HDEL', info, id)
  redis.call('ZADD', tickets, expires, head)
  redis.call('HSET', info, head, record, 'state', state)
  if follows then
    redis.call('ZREM', queue, head)
    redis.call('HDEL', requests, head)
  else
    redis.call('DEL', queue, requests, key_of(tickets, 'clients'))
  end
end

-- All permits are held, and the client of the queue's head lives.
local function hand_over(tickets, info, id, run, slot, state)
  local now_text, limit = run.now, run.limit
  local queue, requests = key_of(tickets, 'queue'), key_of(tickets, 'requests')
  local heads = redis.call('ZRANGE', queue, '0', '1')
  local head = heads[1]
  local dot = head and string.find(head, '.', 1, true)
  -- A second dot means many permits. A pattern would cost as much as a Redis call.
  if not dot or string.find(head, '.', dot + 1, true) then
    return nil
  end
  local client = string.sub(head, 1, dot - 1)
  local lease = redis.call('ZSCORE', key_of(tickets, 'clients'), client)
  if not lease or lease + 0 <= now_text + 0 then
    return nil
  end
  local life, label = string.match(redis.call('HGET', requests, head) or '', ' (%d+) (%S*)$')
  if not life then
    return nil
  end
  local token = state < now_text and now_text or string.format('%d', string.sub(state, 1, 16) + 1)
  local expires, ticket = string.format('%d', now_text + math.min(life + 0, CLAIM_TIME_US)), slot .. ' ' .. token
  local mark = token .. ' ' .. limit .. (heads[2] and ' queue' or '')
  change_hands(tickets, info, queue, requests, id, head, ticket .. ' ' .. label, mark, expires, heads[2])
  local line = head .. ' ' .. ticket .. ' ' .. expires
  if string.sub(run.inbox, -1 - #client) == ':' .. client then
    return '1//' .. line .. '/'
  end
  tell(run.inbox, tickets, client, line)
  return '1'
end

-- `held`: false if tickets have expired; `record`: the ticket's; `spent`: of budgets, or nil.
local function give_one(tickets, info, id, run, held, state, record, spent, settle_or_slow)
  local slot, limit, rest = string.match(record, '^(%d+) '), run.limit, string.sub(state, 18)
  if not slot or not held or state < string.sub(run.now, 1, 6) then
    return nil
  elseif rest == limit .. ' queue' then
    return held == limit + 0 and hand_over(tickets, info, id, run, slot, state) or nil
  elseif string.sub(rest, 1, #limit) == limit then
    local more = string.sub(rest, #limit + 1)
    if spent and more ~= '' then
      local settle_spent = settle_or_slow()
      more = settle_spent(more, record, spent, run.now + 0)
    end
    return more and lower_slots()(tickets, info, id, run, slot, state, held, more, record)
  end
end

return give_one
