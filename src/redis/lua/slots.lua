-- Fragment of make_slow: which slots are free. `s.spare` has ranges that are not in `tickets`: those that came free in this call, and
-- those that were read there. The lowest free slot is always the next.

function S.highest_first(one, other)
  return one[1] > other[1]
end

-- Brings the lowest ranges of `tickets` to the others.
function S.gather(s)
  if s.gaps > 100 then
    -- What came free in this call may lie behind those that stay there.
    s:store_gaps()
  end
  local ranges = redis.call('ZRANGE', s.tickets, 0, math.min(s.gaps, 100) - 1)
  redis.call('ZREMRANGEBYRANK', s.tickets, 0, #ranges - 1)
  for i = 1, #ranges do
    s.each_range(ranges[i], function(first, final)
      s.spare[#s.spare + 1] = { first, final }
    end)
  end
  s.gaps = s.gaps - #ranges
end

function S.store_gaps(s)
  local adds = {}
  for i = 1, #s.spare do
    local first, final = s.spare[i][1], s.spare[i][2]
    s.add(adds, string.format('%d', first - s.GAPS), first == final and string.format('%d', first) or string.format('%d-%d', first, final))
  end
  s.write(adds, 'ZADD', s.tickets)
  s.gaps, s.spare = s.gaps + #s.spare, {}
end

-- The lowest free slots, at most `most`, that lie side by side.
function S.take_range(s, most)
  if s.gaps > 0 and (not s.sorted or #s.spare == 0) then
    s:gather()
    s.sorted = false
  end
  if not s.sorted then
    table.sort(s.spare, s.highest_first)
    s.sorted = true
  end
  local range = s.spare[#s.spare]
  if not range then
    s.top = s.top + most
    return s.top - most, s.top - 1
  end
  local first, final = range[1], math.min(range[2], range[1] + most - 1)
  if final == range[2] then
    s.spare[#s.spare] = nil
  else
    range[1] = final + 1
  end
  return first, final
end

function S.take_slots(s, permits)
  local parts, left = {}, permits
  while left > 0 do
    local first, final = s:take_range(left)
    parts[#parts + 1] = first == final and string.format('%d', first) or string.format('%d-%d', first, final)
    left = left - (final - first + 1)
  end
  s.held = s.held + permits
  return #parts == 1 and parts[1] or table.concat(parts, ',')
end

-- Where the highest slots are free, `top` sinks.
function S.sink(s)
  while s.gaps > 0 do
    local highest = redis.call('ZRANGE', s.tickets, s.gaps - 1, s.gaps - 1)[1]
    local first, final = string.match(highest, '^(%d+)%-?(%d*)$')
    if (final == '' and first or final) + 1 ~= s.top then
      return
    end
    redis.call('ZREM', s.tickets, highest)
    s.gaps, s.top = s.gaps - 1, first + 0
  end
end

-- What is left of the ranges goes back to `tickets`.
function S.settle(s)
  if s.held == 0 then
    if s.gaps > 0 then
      redis.call('ZREMRANGEBYSCORE', s.tickets, '-inf', '(0')
    end
    s.top, s.gaps, s.spare = 0, 0, {}
    return
  end
  if not s.spare[1] then
    return
  end
  table.sort(s.spare, s.highest_first)
  local kept = {}
  for i = 1, #s.spare do
    local range = s.spare[i]
    if range[2] + 1 == s.top then
      s.top = range[1]
      s:sink()
    else
      kept[#kept + 1] = range
    end
  end
  s.spare = kept
  if kept[1] then
    s:store_gaps()
  end
end
