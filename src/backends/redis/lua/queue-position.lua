-- Fragment of acquire-slow.lua: the position of a request that waits.
-- include: fair-order

-- How many groups of a priority take turns.
local function led_in(s, priority)
  return redis.call('ZCOUNT', heads_of(s, priority), '-inf', '(AT_CAP')
end

-- Behind how many requests, as if all groups had the same weight. Without priorities and groups
-- that is exact.
local function position_of(s, r)
  local turns = redis.call('ZRANK', r.flow, r.id)
  if not turns or not next(s.times) then
    return turns or s.waiting - 1
  end
  local led = led_in(s, r.priority)
  local before = math.min(led, redis.call('ZRANK', r.heads, first_of(s, r.flow).head) or led)
  for priority in pairs(s.times) do
    before = before + (priority > r.priority and led_in(s, priority) or 0)
  end
  -- Groups at the cap do not count: a group alone takes turns with itself.
  return math.min(s.waiting - 1, before + turns * math.max(led, 1))
end
