-- Fragment of the slow paths: how much may be granted in a period, by the generic cell rate
-- algorithm (ATM Forum, Traffic Management Specification 4.1, 1999). A meter has one number, the
-- theoretical arrival time (tat), that moves on by period / amount with each permit of the rate,
-- and with each unit that a request costs of a budget. The state has of each
-- 'amount,period,burst,until,tat,granted,returned': until is empty if the terms are stored, else
-- from then on callers that name none are free of them; granted is when the last permit was
-- granted, or the terms changed; returned is by how much all but time has moved its tat back.
-- 'none,returned' is stored by setRate(undefined). All in microseconds.
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
  s.meters[name], s.ends = m, math.max(s.ends or 0, m.tat)
  return m
end

-- The names of the budgets that count.
function rates.budgets(s)
  local names = {}
  for name, m in pairs(s.meters) do
    names[#names + 1] = m.is_on and name ~= '' and name or nil
  end
  return names
end
