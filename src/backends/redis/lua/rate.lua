-- Fragment of the slow paths: how many permits may be granted in a period, by the generic cell rate
-- algorithm (ATM Forum, Traffic Management Specification 4.1, 1999). One number, the theoretical
-- arrival time (tat), moves on by period / permits with each permit. The state has
-- 'permits,period,burst,until,tat,granted': until is empty where setRate stored the rate, else that
-- is when callers that name none are free of it; granted is when the last permit was granted, or
-- the rate changed. 'none': it is stored that there is no rate. All in microseconds.
-- include: records

-- Takes a rate as the one that counts. What was used of the one before stays used.
local function use_rate(s, text, till)
  local permits, period, burst = string.match(text, '^(%d+),(%d+),(%d+)$')
  local before = s.rate or s.old_rate or { tat = 0, granted = 0 }
  local rate = { text = text, till = till, period = period + 0, interval = period / permits, burst = burst + 0 }
  rate.tat, rate.granted = before.tat, before.granted
  if before.interval and before.interval ~= rate.interval and rate.tat > rate.granted then
    rate.tat = math.ceil(s.now + math.max(rate.tat - s.now, 0) * rate.interval / before.interval)
    rate.granted = s.now
  end
  s.rate, s.old_rate, s.no_rate = rate, nil, false
end

-- One that nobody has named for long is over: what was used of it counts for the next.
local function read_rate(s, text)
  local terms, till, tat, granted = string.match(text, '^(%d+,%d+,%d+),(%d*),(%d+),(%d+)$')
  s.no_rate = not terms
  if not terms then
    return
  end
  use_rate(s, terms, till)
  s.rate.tat, s.rate.granted = tat + 0, granted + 0
  if s.now < s.rate.granted then
    -- The clock was set back: the wait is as long as it was then.
    s.rate.tat, s.rate.granted = tat - (granted - s.now), s.now
  end
  if till ~= '' and till + 0 <= s.now then
    s.rate, s.old_rate = nil, s.rate.tat > s.now and s.rate or nil
  end
end

local function rate_text(s)
  local rate = s.rate or s.old_rate
  if not rate then
    return s.no_rate and ' rate:none' or ''
  end
  return ' rate:' .. rate.text .. ',' .. rate.till .. ',' .. text_of(rate.tat) .. ',' .. text_of(rate.granted)
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
  rate.granted = s.now
end
