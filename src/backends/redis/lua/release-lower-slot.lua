-- Fragment of release-usual.lua: no request waits, and the ticket leaves its slot to the next. Nil
-- where more than a rate, budgets and a cap is in use, or a key is lost.

-- The ticket with the last slot before `top` goes, and `top` sinks below the free slots beneath it.
-- Over at most 100 of them, and no ranges.
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

-- `more`: the state behind the limit.
local function leave_slot(tickets, info, id, run, slot, state, held, more, record)
  local top, rules = string.match(more, '^ top:(%d+)(.*)$')
  rules = rules or more
  local cap = string.find(rules, ' cap:', 1, true)
  local meters = string.sub(rules, 1, (cap or 0) - 1)
  -- A release changes nothing else of a rate and of budgets.
  if cap and not string.find(rules, '^ cap:%d+,%d*$', cap)
    or meters ~= '' and (not string.find(meters, '^ [rb]') or string.find(meters, ' [^b]', 2)) then
    return nil
  end
  local reply = leave_free(tickets, info, id, run, slot, state, held, top and top + 0 or held, rules)
  if reply and cap then
    count_back(tickets, record)
  end
  return reply
end

return leave_slot
