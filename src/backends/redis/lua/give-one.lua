-- Fragment of release.lua: usual cases besides the highest slots, of tickets of one permit each,
-- none of which has expired; each nil where it does not apply. `held`: false where some have
-- expired; `record`: the ticket's.
-- include: notify

-- Writes the ticket of `id` under the id of `head`. `follows`: others wait.
local function change_hands(tickets, info, id, head, record, state, expires, follows)
  local queue, requests = key_of(tickets, 'queue'), key_of(tickets, 'requests')
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

-- All permits are held, and the head of the queue, which lives, waits for one.
local function hand_over(tickets, info, id, run, slot, state)
  local now_text, limit = run.now, run.limit
  local heads = redis.call('ZRANGE', key_of(tickets, 'queue'), '0', '1')
  local head = heads[1]
  local dot = head and string.find(head, '.', 1, true)
  -- With a second dot it asks for many permits. Patterns would cost as much as a Redis call.
  if not dot or string.find(head, '.', dot + 1, true) then
    return nil
  end
  local client = string.sub(head, 1, dot - 1)
  local lease = redis.call('ZSCORE', key_of(tickets, 'clients'), client)
  if not lease or lease + 0 <= now_text + 0 then
    return nil
  end
  local life, label = string.match(redis.call('HGET', key_of(tickets, 'requests'), head) or '', ' (%d+) (%S*)$')
  if not life then
    return nil
  end
  local token = state < now_text and now_text or string.format('%d', string.sub(state, 1, 16) + 1)
  local expires, ticket = string.format('%d', now_text + math.min(life + 0, CLAIM_TIME_US)), slot .. ' ' .. token
  local mark = token .. ' ' .. limit .. (heads[2] and ' queue' or '')
  change_hands(tickets, info, id, head, ticket .. ' ' .. label, mark, expires, heads[2])
  local line = head .. ' ' .. ticket .. ' ' .. expires
  if string.sub(run.inbox, -1 - #client) == ':' .. client then
    return '1//' .. line .. '/'
  end
  tell(run.inbox, tickets, client, line)
  return '1'
end

-- The ticket goes whose slot was the last before `top`. Where those below it are free, no slot from
-- there on is in use. Over at most 100 of them, and no ranges.
local function sink(slots, top)
  for _ = 1, 100 do
    local below = string.format('%d', top - 1)
    if redis.call('ZRANGE', slots, '-1', '-1')[1] ~= below then
      return top
    end
    redis.call('ZREM', slots, below)
    top = top - 1
  end
  return top
end

-- No request waits. `top`: from where on no slot is in use; `rules`: what the state says besides.
local function leave_free(tickets, info, id, run, text, state, held, top, rules)
  local slots, left, slot = key_of(tickets, 'slots'), held - 1, text + 0
  -- Where the key is lost, the slow path makes it again.
  if slot >= top or held < top and redis.call('EXISTS', slots) == 0 or redis.call('ZREM', tickets, id) == 0 then
    return nil
  end
  redis.call('HDEL', info, id)
  if left == 0 then
    redis.call('DEL', slots)
    top = 0
  elseif slot + 1 == top then
    top = sink(slots, slot)
  else
    redis.call('ZADD', slots, text, text)
    if held == top then
      redis.call('PEXPIRE', slots, 'KEYS_LIFE_MS')
    end
  end
  local mark = string.sub(state, 1, 17) .. run.limit .. (top == left and '' or string.format(' top:%d', top)) .. rules
  if mark ~= state then
    redis.call('HSET', info, 'state', mark)
  end
  return '1'
end

-- A permit of a group with a cap comes back, see caps.lua.
local function count_back(tickets, record)
  local groups, group = key_of(tickets, 'groups'), string.match(record, '^%d+ %d+ %S* ?(%S*)')
  if redis.call('HINCRBY', groups, group, '-1') <= 0 then
    redis.call('HDEL', groups, group)
  end
end

local function give_one(tickets, info, id, run, held, state, record)
  local slot, limit, more = string.match(record, '^(%d+) '), run.limit, string.sub(state, 18 + #run.limit)
  if not slot or not held or string.sub(state, 18, 17 + #limit) ~= limit or state < string.sub(run.now, 1, 6) then
    return nil
  elseif more == ' queue' then
    return held == limit + 0 and hand_over(tickets, info, id, run, slot, state) or nil
  end
  local top, rules = string.match(more, '^ top:(%d+)(.*)$')
  rules = rules or more
  local cap = string.find(rules, ' cap:%d+,%d*$')
  local meters = string.sub(rules, 1, (cap or 0) - 1)
  -- Nothing but a rate and budgets besides, which a release without `spent` does not change.
  if meters ~= '' and (not string.find(meters, '^ [rb]') or string.find(meters, ' [^b]', 2)) then
    return nil
  end
  local reply = leave_free(tickets, info, id, run, slot, state, held, top and top + 0 or held, rules)
  if reply and cap then
    count_back(tickets, record)
  end
  return reply
end

return give_one
