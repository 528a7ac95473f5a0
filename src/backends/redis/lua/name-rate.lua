-- Fragment of requests.lua: the rate that a caller was made with.
-- include: rate

-- The caller's rate counts where none is stored. That it does is not written at every call.
local function name_rate(s, text)
  local known = s.rate or s.old_rate or {}
  if s.no_rate or known.till == '' then
    return
  end
  use_rate(s, text, known.till)
  local life = math.max(s.rate.period, RATE_LIFE_US)
  if known.text ~= text or known.till - s.now < life / 2 then
    s.rate.till = text_of(s.now + life)
  end
end
