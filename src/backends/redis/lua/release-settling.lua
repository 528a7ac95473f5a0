-- Fragment of release.lua: a usual case: a ticket has spent more or less than it was charged.
-- include: settle-spent
-- on demand: slow_path = release-slow

-- `words`: the rules in the state. Gives these settled, or nil if the slow path must settle: the
-- keys must then live longer.
local function settle_spent(words, record, spent)
  local s = { now = now_text + 0 }
  read_rules(s, words, 1)
  settle(s, string.match(record, '^.* (.*)$'), spent)
  return (s.ends or 0) - s.now < LONG_TTL_US and rules_text(s) or nil
end

return slow_path, settle_spent
