-- Fragment of release.lua: a usual case: a ticket has spent more or less than it was charged.
-- include: gcra
-- on demand: slow_path = release-slow

-- `more`: the words of the state after the limit. Gives these words with the budgets settled, or
-- nil if the slow path must settle: the keys must then live longer.
local function settle_spent(more, record, spent, now)
  local charged, is_sure = string.match(record, '^.* (.*)$'), true
  local settled = string.gsub(more, ' budget:([^,]+),(%S+)', function(name, text)
    local units = string.match('&' .. spent, '&' .. string.gsub(name, '%p', '%%%0') .. ':(%d+)')
    local m = units and meter_of(text, now)
    if m and m.is_on then
      settle_meter(m, name, charged, units, now)
      is_sure = is_sure and m.tat - now < LONG_TTL_US
      return meter_text(m, ' budget:' .. name)
    end
  end)
  return is_sure and settled or nil
end

return settle_spent, slow_path
