-- Fragment of the slow paths: which slots are free. `s.freed` has the ranges that came free in this
-- call, in pairs, as they will be written to `slots`. The lowest free slot is always the next.
-- include: records
local function ends_of(range)
  local first, final = string.match(range, '^(%d+)%-?(%d*)$')
  return first + 0, (final == '' and first or final) + 0
end

local function range_text(first, final)
  return string.format(first == final and '%d' or '%d-%d', first, final)
end

-- `slots`: as in a ticket's record.
local function free(s, slots)
  for range in string.gmatch(slots, '[%d-]+') do
    local first, final = ends_of(range)
    local size = #s.freed
    s.held = s.held - (final - first + 1)
    if s.freed[size] == first - 1 then
      s.freed[size] = final
    else
      add(s.freed, first, final)
    end
  end
end

-- Writes the ranges that came free. Where the highest slots are among them, `top` sinks, over at
-- most 100 ranges.
local function settle(s)
  local adds = {}
  for i = 1, #s.freed, 2 do
    add(adds, text_of(s.freed[i]), range_text(s.freed[i], s.freed[i + 1]))
  end
  s.freed = {}
  if s.held == 0 and s.top > 0 then
    redis.call('DEL', s.slots)
    s.top = 0
    return
  end
  write(adds, 'ZADD', s.slots)
  s.touched[s.slots] = s.touched[s.slots] or adds[1] and true
  for _ = 1, 100 do
    local highest = s.held < s.top and redis.call('ZRANGE', s.slots, '-1', '-1')[1] or '0'
    local first, final = ends_of(highest)
    if final + 1 ~= s.top or s.held == s.top then
      return
    end
    redis.call('ZREM', s.slots, highest)
    s.top = first
  end
end

-- The lowest free slots, at most `most`, that lie side by side.
local function take(s, most)
  local first, final = s.freed[1], s.freed[2]
  if not first or s.held + final - first + 1 < s.top then
    settle(s)
    local range = s.held < s.top and redis.call('ZRANGE', s.slots, '0', '0')[1]
    if not range then
      s.held, s.top = s.held + most, s.top + most
      return s.top - most, s.top - 1
    end
    redis.call('ZREM', s.slots, range)
    first, final = ends_of(range)
  end
  local last = math.min(final, first + most - 1)
  s.held, s.freed = s.held + last - first + 1, last < final and { last + 1, final } or {}
  return first, last
end
