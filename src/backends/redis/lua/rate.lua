-- Fragment of the slow paths: how much may be granted in a period, by the generic cell rate
-- algorithm (ATM Forum, Traffic Management Specification 4.1, 1999). A meter has one number, the
-- theoretical arrival time (tat), that moves on by period / amount with each permit of the rate,
-- and with each unit that a request costs of a budget. `s.meters` has the budgets by their names,
-- and the rate as ''. The state has 'amount,period,burst,until,tat,granted' of each: until is empty
-- where it is stored, else that is when callers that name none are free of it; granted is when the
-- last permit was granted, or the terms changed. 'none': it is stored that there is none. A budget
-- has ',returned' besides: by how much all but time has moved its tat back. All in microseconds.
-- room: rates
-- include: rooms records
-- A meter by its terms, or 'none', which holds no request back, whatever callers name.
local function meter_of(terms, till, tat, granted, returned)
  local amount, period, burst = string.match(terms, '^(%d+),(%d+),(%d+)$')
  if not amount then
    return { text = 'none', till = '', tat = 0, granted = 0, returned = returned }
  end
  return {
    text = terms, till = till, period = period + 0, interval = period / amount, burst = burst + 0,
    tat = tat, granted = granted, returned = returned, is_on = true,
  }
end

-- Lets new terms count. What was used under the terms before stays used.
function rates.use(s, name, terms, till)
  local before = s.meters[name] or { tat = 0, granted = 0, returned = 0 }
  local m = meter_of(terms, till, before.tat, before.granted, before.returned)
  if not m.interval then
    m.returned = m.returned + math.max(0, before.tat - s.now)
  elseif before.interval and before.interval ~= m.interval and m.tat > m.granted then
    m.tat = math.ceil(s.now + math.max(m.tat - s.now, 0) * m.interval / before.interval)
    m.granted, m.returned = s.now, m.returned + math.max(0, before.tat - m.tat)
  end
  s.meters[name] = m
  return m
end

-- Terms that no caller has named for long are over: what was used of them counts for the next, and
-- tickets may still settle what they were charged.
function rates.read(s, name, text)
  local terms, till, tat, granted, returned = string.match(text, '^(%d+,%d+,%d+),(%d*),(%d+),(%d+),?(%d*)$')
  if not terms then
    s.meters[name] = meter_of('none', nil, nil, nil, tonumber(string.match(text, '%d*$')) or 0)
    return
  end
  local m = meter_of(terms, till, tat + 0, granted + 0, tonumber(returned) or 0)
  if s.now < m.granted then
    -- The clock was set back: the wait is as long as it was then.
    local back = m.granted - s.now
    m.tat, m.granted, m.returned = m.tat - back, s.now, m.returned + back
  end
  m.is_on = till == '' or till + 0 > s.now
  s.meters[name] = (m.is_on or m.tat > s.now or s.count > 0) and m or nil
end

local function meter_text(s, name, word)
  local m = s.meters[name]
  local text = word .. (m.interval and string.format('%s,%s,%d,%d', m.text, m.till, m.tat, m.granted) or m.text)
  return name == '' and text or text .. ',' .. text_of(m.returned)
end

function rates.text(s)
  local text, names = s.meters[''] and meter_text(s, '', ' rate:') or '', {}
  for name in pairs(s.meters) do
    names[#names + 1] = name ~= '' and name or nil
  end
  table.sort(names)
  for _, name in ipairs(names) do
    text = text .. meter_text(s, name, ' budget:' .. name .. ',')
  end
  return text
end

-- Of the permits of a request, or what it costs of a budget: 'tokens:4000&…'.
local function price_of(r, name)
  if name == '' then
    return r.permits
  elseif not r.prices then
    r.prices = {}
    for budget, units in string.gmatch(r.costs or '', '([^:&]+):(%d+)') do
      r.prices[budget] = units + 0
    end
  end
  return r.prices[name] or 0
end

function rates.has_budget(s)
  for name, m in pairs(s.meters) do
    if m.is_on and name ~= '' then
      return true
    end
  end
end

-- When the rate and all budgets allow a request: each is full, or has as much left. By the rate
-- behind `ahead` other requests no earlier.
function rates.pay_time(s, r, ahead)
  local time = 0
  for name, m in pairs(s.meters) do
    local price = m.is_on and price_of(r, name) or 0
    if price > 0 then
      local before = name == '' and ahead or 0
      time = math.max(time, math.max(m.tat, s.now) + (before + price - math.max(m.burst, price)) * m.interval)
    end
  end
  return time
end

-- Whole microseconds, rounded up, so that no window has one more. What is so dear that it is never
-- allowed again must not make the number inexact.
local function charge_meter(s, m, price)
  m.tat = math.ceil(math.max(m.tat, s.now) + math.min(price * m.interval, 1e15))
  m.granted = s.now
end

-- What is noted with the ticket, 'tokens:4000:due&…': due is when time has given it all back.
function rates.charge(s, r)
  local charged = {}
  for name, m in pairs(s.meters) do
    local price = m.is_on and price_of(r, name) or 0
    if price > 0 then
      charge_meter(s, m, price)
      if name ~= '' then
        charged[#charged + 1] = name .. ':' .. text_of(price) .. ':' .. text_of(m.tat + m.returned)
      end
    end
  end
  return table.concat(charged, '&')
end

-- A ticket has spent something else than it was charged. What time has given back already is not
-- given back twice: so no window has more than if the price had been right from the start.
function rates.settle(s, charged, spent)
  for name, units in string.gmatch(spent, '([^:&]+):(%d+)') do
    local m = s.meters[name]
    local price, due = string.match('&' .. charged, '&' .. string.gsub(name, '%p', '%%%0') .. ':(%d+):(%d+)')
    local change = units - (price or 0)
    if m and m.is_on and change > 0 then
      charge_meter(s, m, change)
    elseif m and m.is_on and change < 0 then
      local left = math.max(0, math.min(due - m.returned, m.tat) - s.now)
      local back = math.floor(math.min(-change * m.interval, left))
      m.tat, m.returned = m.tat - back, m.returned + back
    end
  end
end
