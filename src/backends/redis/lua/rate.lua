-- Fragment of the slow paths: new terms of a rate or a budget, see gcra.lua.
-- include: gcra

-- Lets new terms count. Units that were used under the terms before stay used, unless no request is
-- held back from here on: all are given back then. The meter's time never goes back, for the
-- charges of tickets.
local function use_terms(s, name, terms, till)
  local before = s.meters[name] or meter_of('0,1,0,0,0,0,0', s.now)
  local m = meter_of(terms .. ',' .. till .. ',0,0,0', s.now)
  local used = math.max(before.tat - before.time, 0)
  -- Units that take longer than 31 years to come back must not make the number too long.
  local left = m.is_on and math.ceil(math.min(used * (m.interval / before.interval), math.max(used, 1e15))) or 0
  m.tat, m.granted = math.max(before.tat, before.time + left), s.now
  -- Debts of centuries make the numbers inexact.
  m.time = math.max(m.tat - left, before.time)
  s.ends, s.meters[name] = math.max(s.ends or 0, s.now + left), m
end
