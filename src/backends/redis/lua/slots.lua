-- Fragment of semaphore.lua: which slots are free. `s.freed` has the ranges that came free in this
-- call, as they will be written. The lowest free slot is always the next.
local function ends_of(range)
  local first, final = string.match(range, '^(%d+)%-?(%d*)$')
  return first + 0, (final == '' and first or final) + 0
end

local function range_text(first, final)
  return string.format(first == final and '%d' or '%d-%d', first, final)
end

local function free_range(s, first, final)
  local freed = s.freed
  local size = #freed
  s.held = s.held - (final - first + 1)
  if size > 0 and freed[size] + 1 == first then
    freed[size] = final
  else
    freed[size + 1], freed[size + 2] = first, final
  end
end

-- `slots`: as in a record.
local function free(s, slots)
  if tonumber(slots) then
    return free_range(s, slots + 0, slots + 0)
  end
  for range in string.gmatch(slots, '[%d-]+') do
    free_range(s, ends_of(range))
  end
end

-- Writes the ranges that came free. Where the highest are among them, `top` sinks, over at
-- most 100.
local function settle(s)
  local freed, adds = s.freed, {}
  for i = 1, #freed, 2 do
    add(adds, text_of(freed[i] - 33554432), range_text(freed[i], freed[i + 1]))
  end
  write(adds, 'ZADD', s.tickets)
  s.gaps, s.freed = s.gaps + #adds / 2, {}
  if s.held == 0 and s.gaps > 0 then
    redis.call('ZREMRANGEBYSCORE', s.tickets, '-inf', '(0')
    s.top, s.gaps = 0, 0
  end
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

-- The lowest free slots, at most `most`, that lie side by side.
local function take(s, most)
  local first, last = s.freed[1], s.freed[2]
  if not first or s.freed[3] or s.gaps > 0 then
    settle(s)
    local range = s.gaps > 0 and redis.call('ZRANGE', s.tickets, '0', '0')[1]
    if not range then
      s.top = s.top + most
      return s.top - most, s.top - 1
    end
    redis.call('ZREM', s.tickets, range)
    s.gaps, first, last = s.gaps - 1, ends_of(range)
  end
  local final = math.min(last, first + most - 1)
  s.freed = final < last and { final + 1, last } or {}
  return first, final
end

-- Gives a ticket on the lowest free slots.
local function grant(s, id, permits, label, expires)
  local slots, left = '', permits
  s.held, s.count, s.ends = s.held + permits, s.count + 1, math.max(s.ends or 0, expires)
  if s.rate then
    charge_rate(s, permits)
  end
  while left > 0 do
    local first, final = take(s, left)
    slots, left = slots .. (slots == '' and '' or ',') .. range_text(first, final), left - (final - first + 1)
  end
  local ticket = slots .. ' ' .. next_number(s)
  add(s.adds, text_of(expires), id)
  add(s.fields, id, ticket .. ' ' .. label)
  return ticket
end
