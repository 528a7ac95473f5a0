-- Fragment of the slow paths: how much may be granted in a period, by the generic cell rate
-- algorithm (ATM Forum, Traffic Management Specification 4.1, 1999). A meter has one number, the
-- theoretical arrival time (tat), that moves on by period / amount with each permit of the rate,
-- and with each unit that a request costs of a budget. `s.meters` has the budgets by their names,
-- and the rate as ''. The state has 'amount,period,burst,until,tat,granted' of each: until is empty
-- if the terms are stored, else from then on callers that name none are free of them; granted is
-- when the last permit was granted, or the terms changed. 'none' is stored by setRate(undefined). A
-- budget has ',returned' besides: by how much all but time has moved its tat back. All in
-- microseconds.
-- include: lazy-tables records gcra
-- lazy table: rates
-- Lets new terms count. Units that were used under the terms before stay used.
function rates.use(s, name, terms, till)
  local before = s.meters[name] or { tat = 0, granted = 0, returned = 0 }
  local used = string.format('%d,%d,%d', before.tat, before.granted, before.returned)
  local m = meter_of(terms .. ',' .. till .. ',' .. used, s.now)
  if not m.interval then
    m.returned = m.returned + math.max(0, before.tat - s.now)
  elseif before.interval and before.interval ~= m.interval and m.tat > m.granted then
    m.tat = math.ceil(s.now + math.max(m.tat - s.now, 0) * m.interval / before.interval)
    m.granted, m.returned = s.now, m.returned + math.max(0, before.tat - m.tat)
  end
  s.meters[name] = m
  return m
end

-- Terms that no caller has named for long are over. Their used units count under the next terms,
-- and tickets may still settle their charges.
function rates.read(s, name, text)
  local m = meter_of(text, s.now)
  s.meters[name] = (m.is_on or not m.interval or m.tat > s.now or s.count > 0) and m or nil
end

function rates.text(s)
  -- The rate is first: the usual release looks for it there.
  local text = s.meters[''] and meter_text(s.meters[''], ' rate:') or ''
  for name, m in pairs(s.meters) do
    text = text .. (name == '' and '' or meter_text(m, ' budget:' .. name))
  end
  return text
end

-- The permits of a request, or its cost of a budget: 'tokens:4000&…'.
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

-- The earliest time at which the rate and all budgets can pay for a request. Of the rate `ahead`
-- other permits are paid first.
function rates.pay_time(s, r, ahead)
  local time = 0
  for name, m in pairs(s.meters) do
    local price = m.is_on and price_of(r, name) or 0
    if price > 0 then
      time = math.max(time, pay_time_of(m, price, name == '' and ahead or 0, s.now))
    end
  end
  return time
end

-- The ticket's note.
function rates.charge(s, r)
  local charged = {}
  for name, m in pairs(s.meters) do
    local price = m.is_on and price_of(r, name) or 0
    if price > 0 then
      charge_meter(m, price, s.now)
      charged[#charged + 1] = name ~= '' and charge_text(m, name, price) or nil
    end
  end
  return table.concat(charged, '&')
end

-- `charged`: the ticket's note; `spent`: by its holder, 'tokens:3120&…'.
function rates.settle(s, charged, spent)
  for name, units in string.gmatch(spent, '([^:&]+):(%d+)') do
    local m = s.meters[name]
    if m and m.is_on then
      settle_meter(m, name, charged, units, s.now)
    end
  end
end
