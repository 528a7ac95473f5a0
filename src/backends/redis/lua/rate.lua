-- Fragment of the slow paths: new terms of a rate or a budget, see gcra.lua.
-- include: gcra

-- Lets new terms count. Units that were used under the terms before stay used, but with 'none' for
-- `till`: all are given back then. The meter's time never goes back, for the charges of tickets.
local function use_terms(s, name, terms, till)
  local is_none, before = till == 'none', s.meters[name] or meter_of('1,1,1,none,0,0,0', s.now)
  local m = meter_of((is_none and before.text or terms) .. ',' .. till .. ',0,0,0', s.now)
  local used = math.max(before.tat - before.time, 0)
  -- Units that take longer than 31 years to come back must not make the number too long.
  local left = is_none and 0 or math.ceil(math.min(used * (m.interval / before.interval), math.max(used, 1e15)))
  m.tat, m.granted = math.max(before.tat, before.time + left), s.now
  -- Debts of centuries make the numbers inexact.
  m.time = math.max(m.tat - left, before.time)
  s.ends, s.meters[name] = math.max(s.ends or 0, s.now + left), m
end
