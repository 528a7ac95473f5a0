-- Fragment of acquire.lua: the rules that a caller was made with count unless others are stored.

-- Whether rules need not be written: they are stored, or the caller named the same a short while
-- ago.
local function is_fresh(is_same, till, life, now)
  return till == '' or is_same and till - now >= life / 2
end

-- Of 'rate;cap;budget;…' what must be written: terms by the names of meters, and a cap.
local function rules_to_write(s, text)
  local rate, named_cap, budgets = string.match(text, '^([^;]*);?(%d*);?(.*)$')
  local named = { [''] = rate ~= '' and rate or nil }
  for name, terms in string.gmatch(budgets, '([^,;]+),([^;]+)') do
    named[name] = terms
  end
  for name, m in pairs(s.meters) do
    if is_fresh(named[name] == m.text, m.till, math.max(m.period or 0, RATE_LIFE_US), s.now) then
      named[name] = nil
    end
  end
  local cap = not s.no_cap and tonumber(named_cap)
  local is_known = s.cap and is_fresh(cap == s.cap, s.cap_till, RATE_LIFE_US, s.now)
  return named, not is_known and cap
end
