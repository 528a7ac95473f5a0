-- Fragment of close.lua: how fast grants come, while a waiting request wants to know.
--
-- `meta`: 'pace' -> 'last mean grants': when the queue was last served, the mean time between
-- grants in microseconds, and how many grants that is from, up to 32.
local function pace_of(s)
  local last, mean, grants = string.match(redis.call('HGET', s.meta, 'pace') or '', '^(%d+) (%d+) (%d+)$')
  return (last or s.now) + 0, (mean or 0) + 0, (grants or 0) + 0
end

-- Notes the grants of this call. Each weighs a 32nd, or as much as those before it if they are
-- fewer. Where nobody waits any more, nothing is kept.
local function settle_pace(s)
  if not string.find(s.policy, 'p', 1, true) then
    return
  elseif s.waiting == 0 then
    s.policy = string.gsub(s.policy, 'p', '')
    return redis.call('HDEL', s.meta, 'pace')
  elseif not s.served then
    return
  end
  local last, mean, grants = pace_of(s)
  local between = math.max(0, s.now - last) / s.served
  for _ = 1, s.served do
    grants = math.min(grants + 1, 32)
    mean = mean + (between - mean) / grants
  end
  add(s.fields, 'pace', text_of(s.now) .. ' ' .. text_of(math.floor(mean)) .. ' ' .. text_of(grants))
end
