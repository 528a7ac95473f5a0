-- Fragment of release-usual.lua: no request waits, and the ticket leaves its slot to the next. Nil
-- where more than a rate, budgets and a cap is in use, or a key is lost.
-- on demand: settle_or_slow = settle-spent

-- `top`: no slot from there on is in use; `rules`: the other words of the state.
local function leave_free(tickets, info, id, run, text, state, held, top, rules)
  local slots, left, slot = key_of(tickets, 'slots'), held - 1, text + 0
  -- The slow path makes a lost key again.
  if slot >= top or held < top and redis.call('EXISTS', slots) == 0 or redis.call('ZREM', tickets, id) == 0 then
    return nil
  end
  redis.call('HDEL', info, id)
  if left == 0 then
    redis.call('DEL', slots)
    top = 0
  elseif slot + 1 == top then
    -- Over at most 100 free slots, and no ranges.
    local sunk = 0
    repeat
      top, sunk = slot - sunk, sunk + 1
      local below = string.format('%d', top - 1)
    until sunk > 100 or redis.call('ZRANGE', slots, '-1', '-1')[1] ~= below or redis.call('ZREM', slots, below) == 0
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

local function leave_slot(tickets, info, id, run, held, state, record, spent)
  local slot, size = string.match(record, '^(%d+) '), #run.limit
  local more = string.sub(state, 18, 17 + size) == run.limit and string.sub(state, 18 + size)
  if not slot or not more or state < string.sub(run.now, 1, 6) then
    return nil
  elseif spent and more ~= '' then
    local settle_spent = settle_or_slow()
    more = settle_spent(more, record, spent, run.now + 0)
  end
  local top, rules = string.match(more or '-', '^ top:(%d+)(.*)$')
  rules = rules or more or '-'
  local cap = string.find(rules, ' cap:', 1, true)
  local meters = string.sub(rules, 1, (cap or 0) - 1)
  -- A release changes nothing else of a rate and of budgets.
  if cap and not string.find(rules, '^ cap:%d+,%d*$', cap)
    or meters ~= '' and (not string.find(meters, '^ [rb]') or string.find(meters, ' [^b]', 2)) then
    return nil
  end
  local reply = leave_free(tickets, info, id, run, slot, state, held, top and top + 0 or held, rules)
  local groups = reply and cap and key_of(tickets, 'groups')
  -- A permit of a group with a cap comes back, see caps.lua.
  local group = groups and string.match(record, '^%d+ %d+ %S* ?(%S*)')
  if groups and redis.call('HINCRBY', groups, group, '-1') <= 0 then
    redis.call('HDEL', groups, group)
  end
  return reply
end

-- The usual case of many tickets: they have the highest slots.
local function release_many(tickets, info, ids, run)
  local held, total, records = redis.call('ZCARD', tickets) - 1, #ids, redis.call('HMGET', info, 'state', unpack(ids))
  if total < 1 or held < total or string.sub(records[1] or '', 18) ~= run.limit or redis.call('ZCOUNT', tickets, '0', run.now) > 0 then
    return nil
  end
  for i = 2, total + 1 do
    local slot = string.match(records[i] or '', '^%d+ ')
    if not slot or slot + total < held then
      return nil
    end
  end
  if redis.call('ZREM', tickets, unpack(ids)) == total and redis.call('HDEL', info, unpack(ids)) == total then
    return string.rep('1', total)
  end
end

local slow
local function release_more(tickets, info, text, run, release_one, held, state, record)
  local ids, spent, reply, id = nil, nil, nil, text
  if release_one then
    -- Of one ticket that was never adopted: a pattern costs less than two lists.
    local costs
    id, costs = string.match(text, '^%["([^"~]+)"%]|%["(.*)"%]$')
    if id then
      ids, spent = { id }, { costs }
      reply, held, state, record = release_one(tickets, info, id, run.limit)
    else
      local listed, all = string.match(text, '^([^|]*)|?(.*)$')
      ids, spent = cjson.decode(listed), all ~= '' and cjson.decode(all)
      -- An adopted ticket has two fields.
      reply = not spent and not string.find(text, '~', 1, true) and release_many(tickets, info, ids, run)
    end
  end
  if record and not reply then
    reply = leave_slot(tickets, info, id, run, held, state, record, spent and spent[1])
  end
  if not reply then
    if not slow then
      local _, slow_path = settle_or_slow()
      slow = slow_path()
    end
    reply = slow(tickets, info, ids or { text }, run, spent)
  end
  return reply
end

return release_more
