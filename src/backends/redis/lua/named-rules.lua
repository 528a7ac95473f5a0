-- Fragment of acquire.lua: the rules that a caller was made with count unless others are stored.

-- Whether a rule need not be written: another is stored, or the caller named the same a short while
-- ago.
local function is_fresh(is_same, till, life, now)
  return till == 'NEVER' or is_same and till - now >= life / 2
end

-- Of 'cap;name,terms;…' what must be written: terms by the names of meters, and a cap.
local function rules_to_write(s, text)
  local named, cap = {}, tonumber(string.match(text, '^%d*'))
  for name, terms in string.gmatch(text, '([^,;]*),([^;]+)') do
    local m = s.meters[name]
    local is_known = m and is_fresh(terms == m.text, m.till, math.max(m.period, RATE_LIFE_US), s.now)
    named[name] = not is_known and terms or nil
  end
  local is_known = s.cap_till and is_fresh(cap == s.cap, s.cap_till, RATE_LIFE_US, s.now)
  return named, not is_known and cap
end
