-- Fragment: how much may be granted in a period, by the generic cell rate algorithm (ATM Forum,
-- Traffic Management Specification 4.1, 1999). A meter of a rate or a budget has one number, the
-- theoretical arrival time (tat), that moves on by period / amount with each permit of the rate,
-- and with each unit that a request costs of a budget. The state has of each
-- 'amount,period,burst,until,tat,granted,returned': until is empty if the terms are stored, else
-- from then on callers that name none are free of them; granted is when the last permit was
-- granted, or the terms changed; returned is by how much all but time has moved its tat back.
-- 'none,returned' is stored by setRate(undefined). All in microseconds.
--
-- `s` has `now`, the `meters` by the names of budgets (the rate has ''), the cap, see caps.lua, and
-- `ends`, the latest time that a meter has reached.

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
  -- If the clock was set back, the wait is as long as it was then.
  local back = math.max(0, m.granted - now)
  m.tat, m.granted, m.returned = m.tat - back, m.granted - back, m.returned + back
  return m
end

-- Reads the meters and the cap from the words of a state. Terms that no caller has named for long
-- are over. Their used units count under the next terms, and the `held` tickets may still settle
-- their charges.
local function read_rules(s, words, held)
  s.meters = {}
  for word, text in string.gmatch(words, ' ([rb]%l+):(%S+)') do
    local name = ''
    if word == 'budget' then
      name, text = string.match(text, '^([^,]+),(.*)$')
    end
    local m = meter_of(text, s.now)
    s.meters[name] = (m.is_on or not m.interval or m.tat > s.now or held > 0) and m or nil
  end
  local at = string.find(words, ' cap:', 1, true)
  local cap, till = string.match(words, '^ cap:(%w+),?(%d*)', at or #words + 1)
  s.cap, s.cap_till, s.no_cap = tonumber(cap), till, cap == 'none'
  s.cap_is_over = s.cap and till ~= '' and till + 0 <= s.now
end

local function rules_text(s)
  local text = ''
  for name, m in pairs(s.meters) do
    local word, used = name == '' and ' rate:' or ' budget:' .. name .. ',', m.text
    if m.interval then
      used = string.format('%s,%s,%d,%d', used, m.till, m.tat, m.granted)
    end
    text = text .. word .. used .. ',' .. (m.returned > 0 and string.format('%d', m.returned) or '0')
  end
  return text .. (s.no_cap and ' cap:none' or s.cap and string.format(' cap:%d,', s.cap) .. s.cap_till or '')
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
-- has as much left.
local function pay_time(s, r)
  local time = 0
  for name, m in pairs(s.meters) do
    local price = price_of(m, name, r)
    if price > 0 then
      time = math.max(time, math.max(m.tat, s.now) + math.min(price - m.burst, 0) * m.interval)
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

-- Gives what a ticket's record has behind the label: its group, and its charges
-- 'name:price:due&…': due is when time has given the price back.
local function charge(s, r)
  local charges = {}
  for name, m in pairs(s.meters) do
    local price = price_of(m, name, r)
    if price > 0 then
      charge_meter(s, m, price)
      charges[#charges + 1] = name ~= '' and string.format('%s:%d:%d', name, price, m.tat + m.returned) or nil
    end
  end
  local charged = charges[1] and ' ' .. table.concat(charges, '&') or ''
  return r.group .. charged == '' and '' or ' ' .. r.group .. charged
end
