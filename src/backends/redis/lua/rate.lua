-- Fragment of the slow paths: new terms of a rate or a budget, see gcra.lua.
-- include: gcra

-- Lets new terms count. Units that were used under the terms before stay used. 'none' holds no
-- request back, whatever callers name.
local function use_terms(s, name, terms, till)
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
