-- Fragment of acquire.lua: a permit is free, no request waits, and a group, a rate, budgets and a
-- cap are all that is in use. Nil if a request must wait, or the slow path has more to write.
-- include: keys gcra named-rules caps
-- on demand: slow_path = acquire-slow

-- The request of a text, and the rules that its caller names.
local function read_request(text)
  local id, group, costs, rules = string.match(text, '^[@?+]*([^ |]+) ?%d* ?%d? ?%d* ?([^ |]*) ?([^ |]*)|?%d*|?(.*)$')
  return { id = id, permits = 1, group = group, costs = costs }, rules
end

local function grant_under_rules(tickets, info, text, run, token, held, more, grant_one)
  local r, rules = read_request(text)
  if not string.find(r.id, '^[^.%[]+%.[^.]+$') or held >= run.limit + 0 or string.find(more, '^ [qhs]') then
    return nil
  end
  local s = { now = run.now + 0, groups = key_of(tickets, 'groups') }
  read_rules(s, more, held)
  local named, cap = rules_to_write(s, rules)
  if next(named) or cap or s.cap_is_over or pay_time(s, r) > s.now or not has_room(s, r)
    or s.cap and held > 0 and redis.call('EXISTS', s.groups) == 0 then
    return nil
  end
  local label = run.label .. charge(s, r)
  -- The keys must outlive their meters: each 2.8 hours the slow path renews their expiry.
  local is_long = (s.ends or 0) - s.now >= LONG_TTL_US
  local ticket = not is_long and grant_one(tickets, info, r.id, run, token, held, label, more, rules_text(s))
  if ticket and s.cap then
    count_group(s.groups, r.group, '1')
    if held == 0 then
      redis.call('PEXPIRE', s.groups, 'KEYS_LIFE_MS')
    end
  end
  return ticket
end

return slow_path, grant_under_rules
