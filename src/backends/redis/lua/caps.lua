-- Fragment of the slow paths: how many permits a group may hold at once. While a cap counts,
-- `groups` has how many each group holds, and requests without a group are a group. A flow whose
-- first request would take its group above the cap has no head: it is in `capped`, and gets a new
-- head when a permit of its group comes back. The state has 'cap:8,until', until as in rate.lua, or
-- 'cap:none' after setGroupLimit(undefined), and 'capped:50' while flows are in `capped`, with the
-- priorities that have heads as well: so the loss of a priority's heads is noticed.
-- include: lazy-tables records
-- lazy table: caps
function caps.read(s, text)
  local cap, till = string.match(text or '', '^(%d+),(%d*)$')
  s.no_cap, s.cap, s.cap_till = text == 'none', tonumber(cap), till
end

function caps.text(s)
  if not s.cap then
    return s.no_cap and ' cap:none' or ''
  end
  return ' cap:' .. text_of(s.cap) .. ',' .. s.cap_till .. (s.capped and ' capped:' .. s.led or '')
end

-- Permits that a group holds.
local function held_by(s, group)
  s.by_group[group] = s.by_group[group] or (redis.call('HGET', s.groups, group) or 0) + 0
  return s.by_group[group]
end

function caps.has_room(s, r)
  return held_by(s, r.group) + r.permits <= s.cap
end

function caps.count(s, group, permits)
  s.by_group[group] = redis.call('HINCRBY', s.groups, group, text_of(permits)) + 0
  s.touched[s.groups] = true
  if s.by_group[group] <= 0 then
    redis.call('HDEL', s.groups, group)
  end
end

-- The group of a ticket's record, and its charges.
function caps.terms_of(record)
  return string.match(record, '^[%d,-]+ %d+ %S* ?(%S*) ?(%S*)$')
end
