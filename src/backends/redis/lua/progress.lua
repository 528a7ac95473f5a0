-- Fragment of the slow paths: how long a request may have to wait. The state has
-- 'pace:last,mean,grants' while a waiting request wants to know: when the queue was last served,
-- the mean time between grants, and how many grants that is from, up to 32.
-- include: records order

local function pace_of(s)
  local last, mean, grants = string.match(s.pace, '^(%d+),(%d+),(%d+)$')
  return last + 0, mean + 0, grants + 0
end

-- Notes the grants of this call. Each weighs a 32nd, or as much as those before it if they are
-- fewer. Where nobody waits any more, nothing is kept.
local function settle_pace(s)
  if not s.pace or s.waiting == 0 then
    s.pace = nil
  elseif s.served > 0 then
    local last, mean, grants = pace_of(s)
    local between = math.max(0, s.now - last) / s.served
    for _ = 1, s.served do
      grants = math.min(grants + 1, 32)
      mean = mean + (between - mean) / grants
    end
    s.pace = string.format('%d,%d,%d', s.now, math.floor(mean), grants)
  end
end

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

-- What a verdict says of one that waits: ',position,waiting,estimate', the last in microseconds.
local function progress_of(s, id)
  if not s.pace then
    s.pace, s.served = text_of(s.now) .. ',0,0', 0
  end
  local position, _, mean, grants = position_of(s, id), pace_of(s)
  local known = ',' .. text_of(position) .. ',' .. text_of(s.waiting) .. ','
  return known .. (grants > 0 and text_of((position + 1) * mean) or '')
end
