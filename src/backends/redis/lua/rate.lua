-- Fragment of semaphore.lua: how many permits may be granted in a period, by the generic cell rate
-- algorithm (ATM Forum, Traffic Management Specification 4.1, 1999). One number, the theoretical
-- arrival time (tat), moves on by period / permits with each permit.
--
-- `meta`: 'rate' -> 'permits period burst' or 'none' where setRate stored it, 'permits period burst
-- until' where callers name it, for callers that name none; 'tat' -> tat and the time of the last
-- grant, or of a later change of the rate. All in microseconds.

-- Until the clock is where it was at the last grant, nobody would be served: that it was set back
-- shows at once, and the wait is as long as it was then.
local function debt_of(s, text)
  local tat, granted = string.match(text or '0 0', '^(%d+) (%d+)$')
  tat, granted = (tat or 0) + 0, (granted or 0) + 0
  if s.now < granted then
    return { tat = tat - (granted - s.now), granted = s.now, changed = true }
  end
  return { tat = tat, granted = granted }
end

-- Takes a rate as the one that counts. What was used of the one before stays used.
local function use_rate(s, text, tat)
  local permits, period, burst = string.match(text, '^(%d+) (%d+) (%d+)')
  local interval, rate = period / permits, s.rate or debt_of(s, tat)
  rate.interval = rate.interval or s.before
  if rate.interval and rate.interval ~= interval and rate.tat > rate.granted then
    rate.tat = math.ceil(s.now + math.max(rate.tat - s.now, 0) * interval / rate.interval)
    rate.granted, rate.changed = s.now, true
  end
  rate.text, rate.period, rate.interval, rate.burst = text, period + 0, interval, burst + 0
  s.rate, s.policy = rate, string.gsub(s.policy, 'r', '') .. 'r'
end

local function forget_rate(s)
  s.rate, s.policy = nil, string.gsub(s.policy, 'r', '')
end

-- Gives the rate as `meta` has it, and the tat. One that nobody has named for long is over;
-- `before`: its interval, while what was used of it counts for the next.
local function read_rate(s)
  local found = redis.call('HMGET', s.meta, 'rate', 'tat')
  local text = found[1] or ''
  local last = string.match(text, '^%d+ %d+ %d+ (%d+)$')
  forget_rate(s)
  if last and last + 0 <= s.now then
    if debt_of(s, found[2]).tat <= s.now then
      redis.call('HDEL', s.meta, 'rate', 'tat')
    else
      local permits, period = string.match(text, '^(%d+) (%d+)')
      s.policy, s.before = s.policy .. 'r', period / permits
    end
    return '', found[2]
  elseif string.find(text, '^%d') then
    use_rate(s, text, found[2])
  end
  return text, found[2]
end

-- The caller's rate counts where none is stored.
local function name_rate(s, text)
  local known, tat = s.rate and s.rate.text, nil
  if not known then
    known, tat = read_rate(s)
  end
  if known == 'none' or string.find(known, '^%d+ %d+ %d+$') then
    return
  end
  use_rate(s, text, tat)
  local life, named, last = math.max(s.rate.period, RATE_LIFE_US), string.match(known, '^(%d+ %d+ %d+) (%d+)$')
  if named ~= text or last - s.now < life / 2 then
    s.rate.text = text .. ' ' .. text_of(s.now + life)
    add(s.fields, 'rate', s.rate.text)
  end
end

-- With 'none' nobody is held back, whatever callers name.
local function store_rate(s, text)
  if text == 'none' then
    forget_rate(s)
    redis.call('HDEL', s.meta, 'tat')
  else
    local _, tat = read_rate(s)
    use_rate(s, text, tat)
  end
  -- The number of fields no longer gives that of tickets.
  s.short = false
  add(s.fields, 'rate', text)
end

-- When the rate allows as many permits at once: the bucket is full, or as many are in it. Behind
-- `ahead` other requests no earlier.
local function rate_time(s, permits, ahead)
  local rate = s.rate
  return math.max(rate.tat, s.now) + (ahead + permits - math.max(rate.burst, permits)) * rate.interval
end

-- Whole microseconds, rounded up, so that no window has one more. A weight that no rate ever allows
-- again must not make the number inexact.
local function charge_rate(s, permits)
  local rate = s.rate
  rate.tat = math.ceil(math.max(rate.tat, s.now) + math.min(permits * rate.interval, 1e15))
  rate.granted, rate.changed = s.now, true
end

-- When the rate allows a request of the caller, where it holds it back now. By arrival it is that
-- of the id, and each of those before it takes a permit at least. In an order others may still come
-- before it: only the head has a time, and the next one hears of it when it is the head.
local function turn_by_rate(s, id)
  local first = s.order and s.turn or not s.order and id
  local client, permits = parts_of(first or '')
  if client == s.client and rate_time(s, permits, 0) > s.now then
    local place = not s.order and redis.call('ZSCORE', s.queue, id)
    local ahead = place and redis.call('ZCOUNT', s.queue, '0', '(' .. text_of(place)) or 0
    return math.ceil(rate_time(s, permits, ahead))
  end
end

-- The head of the queue, which the rate alone holds back, may know of a later time, or of none: a
-- reply names the time only to the caller that asks.
local function tell_turn(s)
  local client, permits = parts_of(s.turn)
  tell(s.run.inbox, s.meta, client, s.turn .. ' at ' .. text_of(math.ceil(rate_time(s, permits, 0))))
end
