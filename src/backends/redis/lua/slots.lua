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
  local highest = s.held < s.top and redis.call('ZRANGE', s.slots, '-1', '-1')[1]
  local first, final = ends_of(highest or '0')
  if highest and final + 1 == s.top then
    redis.call('ZREM', s.slots, highest)
    s.top = first
    return sink_top(s)
  end
end

-- Takes the lowest free slots. Gives them as in a ticket's record.
local function take(s, permits)
  local slots, wanted = {}, s.held + permits
  while s.held < wanted do
    -- Behind the ranges of free slots all slots are free.
    local range = s.held < s.top and redis.call('ZRANGE', s.slots, '0', '0')[1]
    local first, final = ends_of(range or range_text(s.top, s.top + wanted - s.held - 1))
    local last = math.min(final, first + wanted - s.held - 1)
    redis.call('ZREM', s.slots, range or '')
    if last < final then
      add_free(s, last + 1, final)
    end
    slots[#slots + 1], s.top = range_text(first, last), math.max(s.top, last + 1)
    s.held = s.held + last - first + 1
  end
  return table.concat(slots, ',')
end
