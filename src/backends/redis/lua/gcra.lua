-- Fragment: one meter, see rate.lua: 'amount,period,burst,until,tat,granted', and of a budget
-- ',returned'.

-- 'none' holds no request back, whatever callers name.
local function meter_of(text, now)
  local terms, amount, period, burst, till, tat, granted, returned =
    string.match(text, '^((%d+),(%d+),(%d+)),(%d*),(%d+),(%d+),?(%d*)$')
  if not terms then
    return { text = 'none', till = '', tat = 0, granted = 0, returned = tonumber(string.match(text, '%d*$')) or 0 }
  end
  local m = {
    text = terms, till = till, period = period + 0, interval = period / amount, burst = burst + 0, tat = tat + 0,
    granted = granted + 0, returned = tonumber(returned) or 0, is_on = till == '' or till + 0 > now,
  }
  if now < m.granted then
    -- The clock was set back: the wait is as long as it was then.
    local back = m.granted - now
    m.tat, m.granted, m.returned = m.tat - back, now, m.returned + back
  end
  return m
end

-- Whether terms need not be written: they are stored, or the caller names the same as a short while
-- ago.
local function is_fresh(named, terms, till, life, now)
  return till == '' or named == terms and till - now >= life / 2
end

-- `word`: ' rate:', or ' budget:' and its name.
local function meter_text(m, word)
  if word ~= ' rate:' then
    word = word .. ','
  end
  local text = m.interval and string.format('%s%s,%s,%d,%d', word, m.text, m.till, m.tat, m.granted) or word .. m.text
  return word == ' rate:' and text or string.format('%s,%d', text, m.returned)
end

-- When a meter allows a price: it is full, or has as much left.
local function pay_time_of(m, price, ahead, now)
  return math.max(m.tat, now) + (ahead + price - math.max(m.burst, price)) * m.interval
end

-- Whole microseconds, rounded up, so that no window has a unit too many. A price that no rate ever
-- allows again must not make the number inexact.
local function charge_meter(m, price, now)
  m.tat = math.ceil(math.max(m.tat, now) + math.min(price * m.interval, 1e15))
  m.granted = now
end

-- The ticket's note 'name:price:due': due is when time has given the price back.
local function charge_text(m, name, price)
  return string.format('%s:%d:%d', name, price, m.tat + m.returned)
end

-- A ticket has spent more or less than its note says, 'tokens:4000:due&…'. A settlement gives back
-- no unit that time has given back: so no window has more than if the price had been right from the
-- start.
local function settle_meter(m, name, charged, units, now)
  local price, due = string.match('&' .. charged, '&' .. string.gsub(name, '%p', '%%%0') .. ':(%d+):(%d+)')
  local change = units - (price or 0)
  if change > 0 then
    charge_meter(m, change, now)
  elseif change < 0 then
    local left = math.max(0, math.min(due - m.returned, m.tat) - now)
    local back = math.floor(math.min(-change * m.interval, left))
    m.tat, m.returned = m.tat - back, m.returned + back
  end
end
