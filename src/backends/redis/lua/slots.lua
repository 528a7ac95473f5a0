-- Fragment of the slow paths: which slots are free. The lowest free slot is always the next.
-- include: records
local function ends_of(range)
  local first, final = string.match(range, '^(%d+)%-?(%d*)$')
  return first + 0, (final == '' and first or final) + 0
end

local function range_text(first, final)
  return string.format(first == final and '%d' or '%d-%d', first, final)
end

local function add_free(s, first, final)
  redis.call('ZADD', s.slots, text_of(first), range_text(first, final))
  s.touched[s.slots] = true
end

-- `slots`: as in a ticket's record.
local function free(s, slots)
  for range in string.gmatch(slots, '[%d-]+') do
    local first, final = ends_of(range)
    s.held = s.held - (final - first + 1)
    add_free(s, first, final)
  end
end

-- If the highest slots are free, `top` sinks.
local function sink_top(s)
  while s.held < s.top do
    local highest = redis.call('ZRANGE', s.slots, '-1', '-1')[1] or '0'
    local first, final = ends_of(highest)
    if final + 1 ~= s.top then
      return
    end
    redis.call('ZREM', s.slots, highest)
    s.top = first
  end
end

-- The lowest free slots, at most `most`, that lie side by side.
local function take(s, most)
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
    add_free(s, last + 1, final)
  end
  return first, last
end
