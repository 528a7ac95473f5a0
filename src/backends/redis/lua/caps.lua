-- Fragment: how many permits a group may hold at once. While a cap counts, `groups` has how many
-- each group holds, and requests without a group are a group. The state has 'cap:8,until', until as
-- in gcra.lua, and 0 in place of none that is stored.

-- Whether the group may hold the permits of a request besides its own.
local function has_room(s, r)
  return not s.cap or (redis.call('HGET', s.groups, r.group) or 0) + r.permits <= s.cap
end

local function count_group(groups, group, permits)
  if redis.call('HINCRBY', groups, group, permits) <= 0 then
    redis.call('HDEL', groups, group)
  end
end
