-- Fragment of the slow paths: how many permits a group may hold at once. While a cap counts,
-- `groups` has how many each group holds, and requests without a group are a group. The state has
-- 'cap:8,until', until as in rate.lua, or 'cap:none' after setGroupLimit(undefined).
-- include: lazy-tables records
-- lazy table: caps
function caps.read(s, text)
  local cap, till = string.match(text, '^(%d+),(%d*)$')
  s.no_cap, s.cap, s.cap_till = text == 'none', tonumber(cap), till
end

function caps.text(s)
  return s.cap and ' cap:' .. text_of(s.cap) .. ',' .. s.cap_till or s.no_cap and ' cap:none' or ''
end

-- Whether the group may hold the permits of a request besides its own.
function caps.has_room(s, r)
  return not s.cap or (redis.call('HGET', s.groups, r.group) or 0) + r.permits <= s.cap
end

function caps.count(s, group, permits)
  s.touched[s.groups] = true
  if redis.call('HINCRBY', s.groups, group, text_of(permits)) <= 0 then
    redis.call('HDEL', s.groups, group)
  end
end

-- The group of a ticket's record, and its charges.
function caps.terms_of(record)
  return string.match(record, '^[%d,-]+ %d+ %S* ?(%S*) ?(%S*)$')
end
