-- Fragment of acquire-slow.lua: the rate, the budgets and the cap that a caller was made with.
-- include: lazy-tables gcra rate fair-order
-- lazy table: rules

-- The caller's terms count unless terms are stored. A call writes so at most twice in their life.
local function name_meter(s, name, terms)
  local known = s.meters[name] or { till = 0 }
  if not is_fresh(terms, known.text, known.till, math.max(known.period or 0, RATE_LIFE_US), s.now) then
    local m = rates.use(s, name, terms, '')
    m.till = text_of(s.now + math.max(m.period, RATE_LIFE_US))
  end
end

-- The same for the caller's cap.
local function name_cap(s, cap)
  if not s.no_cap and not (s.cap and is_fresh(cap, s.cap, s.cap_till, RATE_LIFE_US, s.now)) then
    order.use_cap(s, cap, text_of(s.now + RATE_LIFE_US))
  end
end

-- The rules that the caller was made with count unless others are stored.
function rules.name(s, text)
  local rate, cap, budgets = string.match(text, '^([^;]*);?(%d*);?(.*)$')
  if rate ~= '' then
    name_meter(s, '', rate)
  end
  if cap ~= '' then
    name_cap(s, cap + 0)
  end
  for name, terms in string.gmatch(budgets, '([^,;]+),([%d,]+)') do
    name_meter(s, name, terms)
  end
end
