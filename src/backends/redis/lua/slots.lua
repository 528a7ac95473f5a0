-- Fragment of the slow paths: which slots are free. The lowest free slot is always the next.
-- `s.freed`: ranges and their first slots, in pairs, to be written to `slots`.
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
    s.held = s.held - (final - first + 1)
    add(s.freed, text_of(first), range)
  end
end

-- Writes the ranges that came free. If the highest slots are among them, `top` sinks, over at most
-- 100 ranges.
local function write_free(s)
  local most = s.freed[1] and 100 or 0
  if s.held == 0 and s.top > 0 then
    redis.call('DEL', s.slots)
    s.top, s.freed = 0, {}
  elseif most > 0 then
    write(s.freed, 'ZADD', s.slots)
    s.freed, s.touched[s.slots] = {}, true
  end
  while most > 0 and s.held < s.top do
    local highest = redis.call('ZRANGE', s.slots, '-1', '-1')[1] or '0'
    local first, final = ends_of(highest)
    if final + 1 ~= s.top then
      return
    end
    redis.call('ZREM', s.slots, highest)
    s.top, most = first, most - 1
  end
end

-- The lowest free slots, at most `most`, that lie side by side.
local function take(s, most)
  write_free(s)
  local range = s.held < s.top and redis.call('ZRANGE', s.slots, '0', '0')[1]
  if not range then
    s.held, s.top = s.held + most, s.top + most
    return s.top - most, s.top - 1
  end
  redis.call('ZREM', s.slots, range)
  local first, final = ends_of(range)
  local last = math.min(final, first + most - 1)
  s.held = s.held + last - first + 1
  if last < final then
    add(s.freed, text_of(last + 1), range_text(last + 1, final))
  end
  return first, last
end
