-- Fragment of semaphore.lua: which slots are free. `s.freed` has ranges that came free in this call and
-- are not in `tickets` yet. The lowest free slot is always the next.
local function range_text(first, final)
  return string.format(first == final and '%d' or '%d-%d', first, final)
end

local function ends_of(range)
  local first, final = string.match(range, '^(%d+)%-?(%d*)$')
  return first + 0, (final == '' and first or final) + 0
end

local function free_range(s, first, final)
  local last = s.freed[#s.freed]
  s.held = s.held - (final - first + 1)
  if last and last[2] + 1 == first then
    last[2] = final
  else
    s.freed[#s.freed + 1] = { first, final }
  end
end

-- `slots`: as in a record.
local function free(s, slots)
  local slot = tonumber(slots)
  if slot then
    return free_range(s, slot, slot)
  end
  for range in string.gmatch(slots, '[%d-]+') do
    free_range(s, ends_of(range))
  end
end

-- Where the highest slots have come free, those below may be free, too. Not without end: the next calls see to the others.
local function sink(s)
  for _ = 1, math.min(s.gaps, 100) do
    local rank = text_of(s.gaps - 1)
    local highest = redis.call('ZRANGE', s.tickets, rank, rank)[1]
    local first, final = ends_of(highest)
    if final + 1 ~= s.top then
      return
    end
    redis.call('ZREM', s.tickets, highest)
    s.gaps, s.top = s.gaps - 1, first
  end
end

-- Writes the ranges that came free.
local function settle(s)
  local freed, adds, top = s.freed, {}, s.top
  s.freed = {}
  if s.held == 0 then
    if s.gaps > 0 then
      redis.call('ZREMRANGEBYSCORE', s.tickets, '-inf', '(0')
    end
    s.top, s.gaps = 0, 0
    return
  end
  for i = 1, #freed do
    local first, final = freed[i][1], freed[i][2]
    if final + 1 == s.top then
      s.top = first
    else
      add(adds, text_of(first - 33554432), range_text(first, final))
    end
  end
  write(adds, 'ZADD', s.tickets)
  s.gaps = s.gaps + #adds / 2
  if s.top < top then
    sink(s)
  end
end

-- The lowest free slots, at most `most`, that lie side by side.
local function take(s, most)
  local range = s.gaps == 0 and not s.freed[2] and s.freed[1]
  if range then
    s.freed = {}
  else
    settle(s)
    local lowest = s.gaps > 0 and redis.call('ZRANGE', s.tickets, '0', '0')[1]
    if not lowest then
      s.top = s.top + most
      return s.top - most, s.top - 1
    end
    redis.call('ZREM', s.tickets, lowest)
    s.gaps, range = s.gaps - 1, { ends_of(lowest) }
  end
  local first, final = range[1], math.min(range[2], range[1] + most - 1)
  if final < range[2] then
    s.freed[1] = { final + 1, range[2] }
  end
  return first, final
end

-- Gives a ticket on the lowest free slots.
local function grant(s, id, permits, label, expires)
  local slots, left = '', permits
  s.held, s.count, s.ends = s.held + permits, s.count + 1, math.max(s.ends or 0, expires)
  while left > 0 do
    local first, final = take(s, left)
    slots, left = slots .. (slots == '' and '' or ',') .. range_text(first, final), left - (final - first + 1)
  end
  local ticket = slots .. ' ' .. next_number(s)
  add(s.adds, text_of(expires), id)
  add(s.fields, id, ticket .. ' ' .. label)
  return ticket
end
