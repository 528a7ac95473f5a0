-- Fragment of make_slow: which slots are free. `s.spare` has ranges that are not in `tickets`: those that came free in this call, and
-- those that were read there. The lowest free slot is always the next.
local function highest_first(one, other)
  return one[1] > other[1]
end

local function store_gaps(s)
  local adds, total = {}, #s.spare
  for i = 1, total do
    local range = s.spare[i]
    adds[2 * i - 1], adds[2 * i] = text_of(range[1] - 33554432.0), range_text(range[1], range[2])
  end
  write(adds, 'ZADD', s.tickets)
  s.gaps, s.spare = s.gaps + total, {}
end

-- Brings the lowest ranges of `tickets` to the others.
local function gather(s)
  if s.gaps > 100 then
    -- What came free in this call may lie behind those that stay there.
    store_gaps(s)
  end
  local last = text_of(math.min(s.gaps, 100) - 1)
  local ranges = redis.call('ZRANGE', s.tickets, '0', last)
  redis.call('ZREMRANGEBYRANK', s.tickets, '0', last)
  for i = 1, #ranges do
    each_range(ranges[i], function(first, final)
      s.spare[#s.spare + 1] = { first, final }
    end)
  end
  s.gaps, s.sorted = s.gaps - #ranges, false
end

-- The lowest free slots, at most `most`, that lie side by side.
local function take_range(s, most)
  if s.gaps > 0 and (not s.sorted or not s.spare[1]) then
    gather(s)
  end
  local spare = s.spare
  if not s.sorted and spare[2] then
    table.sort(spare, highest_first)
  end
  s.sorted = true
  local range = spare[#spare]
  if not range then
    s.top = s.top + most
    return s.top - most, s.top - 1
  end
  local first, final = range[1], math.min(range[2], range[1] + most - 1)
  if final == range[2] then
    spare[#spare] = nil
  else
    range[1] = final + 1
  end
  return first, final
end

-- Gives a ticket on the lowest free slots.
local function grant(s, id, permits, label, expires)
  local slots, left = '', permits
  repeat
    local first, final = take_range(s, left)
    slots = (slots == '' and '' or slots .. ',') .. range_text(first, final)
    left = left - (final - first + 1)
  until left == 0
  s.last = math.max(s.last + 1, now)
  local ticket = slots .. ' ' .. (s.last == now and now_text or text_of(s.last))
  s.held, s.count, s.renews = s.held + permits, s.count + 1, s.renews or expires - now > 43200000000.0
  add_ticket(s, id, expires)
  add_field(s, id, ticket .. ' ' .. label)
  return ticket
end

-- Where the highest slots are free, `top` sinks.
local function sink(s)
  while s.gaps > 0 do
    local rank = text_of(s.gaps - 1)
    local highest = redis.call('ZRANGE', s.tickets, rank, rank)[1]
    local first, final = string.match(highest, '^(%d+)%-?(%d*)$')
    if (final == '' and first or final) + 1 ~= s.top then
      return
    end
    redis.call('ZREM', s.tickets, highest)
    s.gaps, s.top = s.gaps - 1, first + 0
  end
end

-- What is left of the ranges goes back to `tickets`.
local function settle(s)
  if s.held == 0 then
    if s.gaps > 0 then
      redis.call('ZREMRANGEBYSCORE', s.tickets, '-inf', '(0')
    end
    s.top, s.gaps, s.spare = 0, 0, {}
  elseif s.spare[1] then
    table.sort(s.spare, highest_first)
    local kept = {}
    for i = 1, #s.spare do
      local range = s.spare[i]
      if range[2] + 1 == s.top then
        s.top = range[1]
        sink(s)
      else
        kept[#kept + 1] = range
      end
    end
    s.spare = kept
    if kept[1] then
      store_gaps(s)
    end
  end
end
