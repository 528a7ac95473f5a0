-- Fragment: how much may be granted in a period, by the generic cell rate algorithm (ATM Forum,
-- Traffic Management Specification 4.1, 1999). A meter of a rate or a budget has one number, the
-- theoretical arrival time (tat), that moves on by period / amount with each permit of the rate,
-- and with each unit that a request costs of a budget. It never moves back: a meter has a time of
-- its own, which goes ahead of the server's time by what is given back.
--
-- The state has of each meter 'amount,period,burst,until,tat,granted,ahead'. The amount 0 holds no
-- request back, whatever callers name. until is NEVER if the terms are stored, else from then on
-- callers that name no terms are free of them. granted is when the last permit was granted, or the
-- terms changed. ahead is by how much the meter's time is ahead. All in microseconds.
--
-- `s` has `now`, the `meters` by the names of budgets (the rate has ''), the cap, see caps.lua, and
-- `ends`, the latest time that a meter has reached.

-- If the clock was set back, the meter's time continues from the last grant: the wait is as long as
-- it was then.
local function meter_of(text, now)
  local terms, amount, period, burst, till, tat, granted, ahead =
    string.match(text, '^((%d+),(%d+),(%d+)),(%d+),(%d+),(%d+),(%d+)$')
  return {
    text = terms, till = till, period = period + 0, interval = period / amount, burst = burst + 0, tat = tat + 0,
    granted = math.min(granted + 0, now), time = math.max(granted + 0, now) + ahead, is_on = amount ~= '0' and till + 0 > now,
  }
end

-- Reads the meters and the cap from the words of a state. Terms that no caller has named for long
-- are over. Their used units count under the next terms, and the `held` tickets may still settle
-- their charges.
local function read_rules(s, words, held)
  s.meters = {}
  for name, text in string.gmatch(words, ' [rb]%l+:([^,]*),(%S+)') do
    local m = meter_of(text, s.now)
    s.meters[name] = (m.till + 0 > s.now or m.tat > m.time or held > 0) and m or nil
  end
  -- A pattern would cost more on its way there.
  local at = string.find(words, ' cap:', 1, true)
  local cap, till = string.match(words, '^ cap:(%d+),(%d+)', at or #words + 1)
  s.cap, s.cap_till = cap ~= '0' and tonumber(cap), till
  s.cap_is_over = s.cap and till + 0 <= s.now
end

local function rules_text(s)
  local text = ''
  for name, m in pairs(s.meters) do
    local word = name == '' and ' rate:' or ' budget:'
    local used = string.format('%d,%d,%d', m.tat, m.granted, m.time - s.now)
    text = text .. word .. name .. ',' .. m.text .. ',' .. m.till .. ',' .. used
  end
  return text .. (s.cap_till and string.format(' cap:%d,%s', s.cap or 0, s.cap_till) or '')
end

-- What a list has for a budget: of 'tokens:4000&…' the units, and of 'tokens:4000:due&…' due, too.
local function units_of(list, name)
  local at = string.find('&' .. list, '&' .. name .. ':', 1, true)
  return string.match(list, '^(%d+):?(%d*)', (at or #list) + #name + 1)
end

-- The price of a request for a meter: its permits, or its cost of a budget.
local function price_of(m, name, r)
  local units = name == '' and r.permits or units_of(r.costs or '', name)
  return m.is_on and (units or 0) + 0 or 0
end

-- The earliest time at which the rate and all budgets can pay for a request: a meter is full, or
-- has as much left.
local function pay_time(s, r)
  local time = 0
  for name, m in pairs(s.meters) do
    local price = price_of(m, name, r)
    if price > 0 then
      time = math.max(time, s.now + math.max(m.tat - m.time, 0) + math.min(price - m.burst, 0) * m.interval)
    end
  end
  return time
end

-- Whole microseconds, rounded up, so that no window has a unit too many. A price that no rate ever
-- allows again must not make the number inexact.
local function charge_meter(s, m, price)
  m.tat = math.ceil(math.max(m.tat, m.time) + math.min(price * m.interval, 1e15))
  m.granted, s.ends = s.now, math.max(s.ends or 0, s.now + m.tat - m.time)
end

-- Gives what a ticket's record has behind the label: its group, and its charges
-- 'name:price:due&…': due is the meter's time when time has given the price back.
local function charge(s, r)
  local charges = {}
  for name, m in pairs(s.meters) do
    local price = price_of(m, name, r)
    if price > 0 then
      charge_meter(s, m, price)
      charges[#charges + 1] = name ~= '' and string.format('%s:%d:%d', name, price, m.tat) or nil
    end
  end
  local charged = charges[1] and ' ' .. table.concat(charges, '&') or ''
  return r.group .. charged == '' and '' or ' ' .. r.group .. charged
end
