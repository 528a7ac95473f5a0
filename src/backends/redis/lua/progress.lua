-- Fragment of acquire.lua: how long a request may have to wait.

-- Behind how many requests, as if all groups had the same weight. Without priorities and groups
-- that is exact.
local function position_of(s, id)
  if not s.order then
    return redis.call('ZCOUNT', s.queue, '0', '(' .. text_of(redis.call('ZSCORE', s.queue, id)))
  end
  local r = read_request(id, redis.call('HGET', s.meta, id))
  local score = redis.call('ZSCORE', s.queue, r and r.member or id) + 0
  local _, head = head_of(s, r and r.flow or '&0 ')
  if not head or score < -1.6e15 then
    return s.waiting - 1
  end
  local turns = 0
  if not r then
    turns = 1 + redis.call('ZCOUNT', s.queue, '1500000000000000', '(' .. text_of(score))
  elseif score < 0 then
    turns = 1 + redis.call('ZRANK', s.queue, r.member) - redis.call('ZCOUNT', s.queue, '-inf', '(' .. text_of(score))
  end
  local low = r and r.low or 9 * 1.4e14
  local heads = redis.call('ZCOUNT', s.queue, text_of(low), '(' .. text_of(low + 1.4e14))
  local before = redis.call('ZRANK', s.queue, head) - redis.call('ZCOUNT', s.queue, '-inf', '(0')
  return math.min(s.waiting - 1, before + turns * heads)
end

-- What a verdict says of one that waits: ',position,waiting,estimate', the last in microseconds.
local function progress_of(s, id)
  if not string.find(s.policy, 'p', 1, true) then
    s.policy = s.policy .. 'p'
    redis.call('HSET', s.meta, 'pace', text_of(s.now) .. ' 0 0')
    s.served = nil
  end
  local position, _, mean, grants = position_of(s, id), pace_of(s)
  local known = ',' .. text_of(position) .. ',' .. text_of(s.waiting) .. ','
  return known .. (grants > 0 and text_of((position + 1) * mean) or '')
end
