-- Fragment: the meters of a rate and of budgets, see rate.lua. `s` has `now`, the `meters` by the
-- names of budgets (the rate has ''), and `ends`, the latest time that a meter has reached.

-- 'none' holds no request back, whatever callers name.
local function meter_of(text, now)
  local terms, amount, period, burst, till, tat, granted, returned =
    string.match(text, '^((%d+),(%d+),(%d+)),(%d*),(%d+),(%d+),(%d+)$')
  if not terms then
    return { text = 'none', till = '', tat = 0, granted = 0, returned = tonumber(string.match(text, '%d*$')) or 0 }
  end
  local m = {
    text = terms, till = till, period = period + 0, interval = period / amount, burst = burst + 0, tat = tat + 0,
    granted = granted + 0, returned = returned + 0, is_on = till == '' or till + 0 > now,
  }
  if now < m.granted then
    -- The clock was set back: the wait is as long as it was then.
    local back = m.granted - now
    m.tat, m.granted, m.returned = m.tat - back, now, m.returned + back
  end
  return m
end

-- Reads the meters from the words of a state. Terms that no caller has named for long are over.
-- Their used units count under the next terms, and the `held` tickets may still settle their
-- charges.
local function read_meters(s, words, held)
  s.meters = {}
  for word, text in string.gmatch(words, ' ([rb]%l+):(%S+)') do
    local name = ''
    if word == 'budget' then
      name, text = string.match(text, '^([^,]+),(.*)$')
    end
    if name then
      local m = meter_of(text, s.now)
      s.meters[name] = (m.is_on or not m.interval or m.tat > s.now or held > 0) and m or nil
    end
  end
end

local function meters_text(s)
  local text = ''
  for name, m in pairs(s.meters) do
    local word, used = name == '' and ' rate:' or ' budget:' .. name .. ',', m.text
    if m.interval then
      used = string.format('%s,%s,%d,%d', used, m.till, m.tat, m.granted)
    end
    text = text .. word .. used .. ',' .. (m.returned > 0 and string.format('%d', m.returned) or '0')
  end
  return text
end

-- The rules that a caller names, 'rate;cap;budget;…': terms by the names of meters; and the cap, or
-- ''.
local function named_rules(text)
  local rate, cap, budgets = string.match(text, '^([^;]*);?(%d*);?(.*)$')
  local named = { [''] = rate ~= '' and rate or nil }
  for name, terms in string.gmatch(budgets, '([^,;]+),([^;]+)') do
    named[name] = terms
  end
  return named, cap
end

-- Whether terms need not be written: they are stored, or the caller names the same as a short while
-- ago.
local function is_fresh(named, terms, till, life, now)
  return till == '' or named == terms and till - now >= life / 2
end

-- The price of a request for a meter: its permits, or its cost of a budget: 'tokens:4000&…'.
local function price_of(m, name, r)
  if not r.prices then
    r.prices = { [''] = r.permits }
    for budget, units in string.gmatch(r.costs or '', '([^:&]+):(%d+)') do
      r.prices[budget] = units + 0
    end
  end
  return m.is_on and r.prices[name] or 0
end

-- The earliest time at which the rate and all budgets can pay for a request: a meter is full, or
-- has as much left. Of the rate `ahead` other permits are paid first.
local function pay_time(s, r, ahead)
  local time = 0
  for name, m in pairs(s.meters) do
    local price = price_of(m, name, r)
    if price > 0 then
      local all = price + (name == '' and ahead or 0)
      time = math.max(time, math.max(m.tat, s.now) + (all - math.max(m.burst, price)) * m.interval)
    end
  end
  return time
end

-- Whole microseconds, rounded up, so that no window has a unit too many. A price that no rate ever
-- allows again must not make the number inexact.
local function charge_meter(s, m, price)
  m.tat = math.ceil(math.max(m.tat, s.now) + math.min(price * m.interval, 1e15))
  m.granted, s.ends = s.now, math.max(s.ends or 0, m.tat)
end

-- The ticket's note 'name:price:due&…': due is when time has given the price back.
local function charge(s, r)
  local notes = {}
  for name, m in pairs(s.meters) do
    local price = price_of(m, name, r)
    if price > 0 then
      charge_meter(s, m, price)
      notes[#notes + 1] = name ~= '' and string.format('%s:%d:%d', name, price, m.tat + m.returned) or nil
    end
  end
  return table.concat(notes, '&')
end

-- A ticket has spent more or less than its note says, 'tokens:3120&…'. A settlement gives back no
-- unit that time has given back: so no window has more than if the price had been right from the
-- start.
local function settle(s, note, spent)
  for name, units in string.gmatch(spent, '([^:&]+):(%d+)') do
    local m = s.meters[name]
    local price, due = string.match('&' .. note, '&' .. string.gsub(name, '%p', '%%%0') .. ':(%d+):(%d+)')
    local change = m and m.is_on and units - (price or 0) or 0
    if change > 0 then
      charge_meter(s, m, change)
    elseif change < 0 then
      local left = math.max(0, math.min(due - m.returned, m.tat) - s.now)
      local back = math.floor(math.min(-change * m.interval, left))
      m.tat, m.returned = m.tat - back, m.returned + back
    end
  end
end
