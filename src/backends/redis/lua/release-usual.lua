-- Fragment of release.lua: the usual cases besides a ticket with the highest slot. A function gives
-- nil if its case does not apply, or a key is lost.
-- include: keys notify caps
-- on demand: slow_or_settle = release-settling

-- All permits are held, and the client of the queue's head lives.
local function hand_over(tickets, info, id, limit, record, state)
  local slot, inbox = string.match(record, '^(%d+) '), ARGV[1]
  local queue, requests = key_of(tickets, 'queue'), key_of(tickets, 'requests')
  local heads = redis.call('ZRANGE', queue, '0', '1')
  -- A second dot means many permits.
  local head, client = heads[1], string.match(heads[1] or '', '^([^.]+)%.[^.]+$')
  if not slot or not client then
    return nil
  end
  local lease = redis.call('ZSCORE', key_of(tickets, 'clients'), client) or 0
  -- Behind its arrival, of 16 digits.
  local life, label = string.match(redis.call('HGET', requests, head) or '', '^(%d+) (%S*)$', 18)
  if not life or lease + 0 <= now_text + 0 then
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

-- Frees a slot while no request waits. Gives a slot from which on none is in use then: if the
-- highest slot comes free, that sinks over at most 100 free slots, and no ranges. `groups`: the key
-- that counts permits of groups, if a cap is in use.
local function free_slot(tickets, id, slot, held, top, groups)
  local slots = key_of(tickets, 'slots')
  -- First: while a cluster moves the keys, a call of a key that is not there ends the script. The
  -- slow path makes a lost key again.
  local found = groups and redis.call('EXISTS', slots, groups) - 1 or redis.call('EXISTS', slots)
  if found < (held < top and 1 or 0) or slot >= top or redis.call('ZREM', tickets, id) == 0 then
    return nil
  elseif held == 1 then
    redis.call('DEL', slots)
    return 0
  elseif slot + 1 < top then
    redis.call('ZADD', slots, slot, string.format('%d', slot))
    if held == top then
      redis.call('PEXPIRE', slots, 'KEYS_LIFE_MS')
    end
    return top
  end
  -- The last free slot takes the key with it, which is not called again.
  local least = math.max(slot - 100, held - 1)
  while slot > least and redis.call('ZREM', slots, string.format('%d', slot - 1)) == 1 do
    slot = slot - 1
  end
  return slot
end

-- No request waits, and the ticket leaves its slot to the next. `more`: the words of the state: at
-- most 'top', a rate, budgets and a cap.
local function leave_slot(tickets, info, id, limit, more, held, state, record, spent)
  local top, words = string.match(more, '^ top:(%d+)(.*)$')
  words = words or more
  if spent and words ~= '' then
    local _, settle_spent = slow_or_settle()
    words = settle_spent(words, record, spent)
  end
  local slot = words and string.match(record, '^(%d+) ')
  local has_cap = slot and string.find(words, ' cap:', 1, true) and not string.find(words, ' cap:0', 1, true)
  local groups = has_cap and key_of(tickets, 'groups')
  top = slot and free_slot(tickets, id, slot + 0, held, (top or held) + 0, groups)
  if not top then
    return nil
  end
  redis.call('HDEL', info, id)
  local mark = string.sub(state, 1, 17) .. limit .. (top == held - 1 and '' or string.format(' top:%d', top)) .. words
  if mark ~= state then
    redis.call('HSET', info, 'state', mark)
  end
  if groups then
    count_group(groups, string.match(record, '^%d+ %d+ %S* ?(%S*)'), '-1')
  end
  return '1'
end

-- The usual case of many tickets: they have the highest slots.
local function release_many(tickets, info, ids, limit)
  local held, total, records = redis.call('ZCARD', tickets) - 1, #ids, redis.call('HMGET', info, 'state', unpack(ids))
  if total < 1 or held < total or string.sub(records[1] or '', 18) ~= limit or redis.call('ZCOUNT', tickets, '0', now_text) > 0 then
    return nil
  end
  for i = 2, total + 1 do
    local slot = string.match(records[i] or '', '^%d+ ')
    if not slot or slot + total < held then
      return nil
    end
  end
  local is_gone = redis.call('ZREM', tickets, unpack(ids)) == total and redis.call('HDEL', info, unpack(ids)) == total
  return is_gone and string.rep('1', total)
end

-- Made once, for all semaphores of a call.
local slow

-- `id`: or a list; `record`: the ticket's, if it is live and none has expired.
local function release_usual(tickets, info, id, limit, spent, held, state, record)
  local ids, all_spent, reply = { id }, spent and { spent }, nil
  if string.byte(id) == LIST then
    local listed, costs = string.match(id, '^([^|]*)|?(.*)$')
    ids, all_spent = cjson.decode(listed), costs ~= '' and cjson.decode(costs)
    -- An adopted ticket has two fields.
    reply = not all_spent and not string.find(id, '~', 1, true) and release_many(tickets, info, ids, limit)
  end
  -- In another period of 2.8 hours the slow path renews the keys' expiry.
  if record and not reply and state >= string.sub(now_text, 1, 6) and string.sub(state, 18, 17 + #limit) == limit then
    local more = string.sub(state, 18 + #limit)
    if more == ' queue' then
      reply = held == limit + 0 and hand_over(tickets, info, id, limit, record, state)
    -- Of a longer limit a digit is left.
    elseif not string.find(more, '^ ?[%dqhs]') then
      reply = leave_slot(tickets, info, id, limit, more, held, state, record, spent)
    end
  end
  slow = slow or not reply and slow_or_settle()()
  return reply or slow(tickets, info, ids, { inbox = ARGV[1], now = now_text, limit = limit }, all_spent)
end

return release_usual
