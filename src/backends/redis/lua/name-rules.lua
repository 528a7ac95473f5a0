-- Fragment of requests.lua: the rate, the budgets and the cap that a caller was made with.
-- room: rules
-- include: rooms rate order

-- The caller's terms count unless terms are stored. A call writes so at most twice in their life.
local function name_meter(s, name, terms)
  local known = s.meters[name] or { till = 0, period = 0 }
  local is_stored = known.till == ''
  local life = not is_stored and known.text == terms and known.till - s.now or 0
  if not is_stored and life < math.max(known.period, RATE_LIFE_US) / 2 then
    local m = rates.use(s, name, terms, '')
    m.till = text_of(s.now + math.max(m.period, RATE_LIFE_US))
  end
end

-- The caller's cap counts unless a cap is stored. A call writes so at most twice in its life.
local function name_cap(s, cap)
  if s.no_cap or s.cap and s.cap_till == '' then
    return
  end
  local is_fresh = s.cap == cap and s.cap_till - s.now >= RATE_LIFE_US / 2
  order.use_cap(s, cap, is_fresh and s.cap_till or text_of(s.now + RATE_LIFE_US))
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
