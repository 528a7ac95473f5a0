-- Fragment of requests.lua: the position of a request, and the wait that it may expect.
-- include: records order pace

-- Behind how many requests, as if all groups had the same weight. Without priorities and groups
-- that is exact.
local function position_of(s, id)
  local r = request_of(s, id, redis.call('HGET', s.requests, id))
  local turns = redis.call('ZRANK', r.flow, id)
  if not turns or not next(s.times) then
    return turns or s.waiting - 1
  end
  local heads = redis.call('ZCARD', r.heads)
  local before = redis.call('ZRANK', r.heads, as_head(first_of(s, r.flow))) or heads
  for priority in pairs(s.times) do
    before = before + (priority > r.priority and redis.call('ZCARD', heads_of(s, priority)) or 0)
  end
  return math.min(s.waiting - 1, before + turns * heads)
end

-- What a verdict says of a waiting request: ',position,waiting,estimate', the last in microseconds.
local function progress_of(s, id)
  if not s.pace then
    s.pace, s.served = text_of(s.now) .. ',0,0', 0
  end
  local position, _, mean, grants = position_of(s, id), pace_of(s)
  local known = ',' .. text_of(position) .. ',' .. text_of(s.waiting) .. ','
  return known .. (grants > 0 and text_of((position + 1) * mean) or '')
end
