-- Fragment of release.lua: what a ticket has spent of budgets, see gcra.lua.
-- include: gcra

-- A ticket has spent more or less than it was charged, 'tokens:3120&…'. A settlement gives back no
-- unit that time has given back: so no window has more than if the price had been right from the
-- start.
local function settle(s, charged, spent)
  for name, units in string.gmatch(spent, '([^:&]+):(%d+)') do
    local m = s.meters[name]
    local price, due = units_of(charged, name)
    local change = m and m.is_on and units - (price or 0) or 0
    -- A debt of 285 years grows no more: the server could not count it.
    if change > 0 and m.tat - m.time < NEVER then
      charge_meter(s, m, change)
    elseif change < 0 then
      m.time = m.time + math.floor(math.min(-change * m.interval, math.max(0, due - m.time)))
    end
  end
end
