-- Fragment of acquire.lua: a permit is free, no request waits, and a rate, budgets and a cap are
-- all that is in use. Nil if a request must wait, or the slow path has more to write.
-- include: gcra
-- on demand: slow_path = acquire-slow

-- The request of a text, and the rules that its caller names.
local function read_request(text)
  local id, options, rules = string.match(text, '^@([^.|]+%.[^.|]+)|%a|%d+|([^|]*)|%d*|(.*)$')
  local group, costs = string.match(options or '', '^%d %d+ (%S*) ?(%S*)$')
  id = id or string.match(text, '^%??([^@?|%[][^|]*)$')
  -- With room for all fields: a table that grows costs as much as a Redis call.
  return { id = id, permits = 1, group = group or '', costs = costs, prices = nil }, rules or ''
end

-- Whether the state has all rules that the caller names, and its cap. `word`: of the cap, or ''.
local function knows_rules(s, word, rules)
  local named, named_cap = named_rules(rules)
  for name, m in pairs(s.meters) do
    if m.interval and not is_fresh(named[name], m.text, m.till, math.max(m.period, RATE_LIFE_US), s.now) then
      return false
    end
    named[name] = nil
  end
  local cap, till = string.match(word, '^ cap:(%d+),(%d*)$')
  local is_known = word ~= '' or named_cap == ''
  if cap then
    is_known = is_fresh(named_cap, cap, till, RATE_LIFE_US, s.now)
  end
  return is_known and not next(named), cap
end

-- Whether the group may hold a permit more. With a cap `groups` exists while permits are held.
local function has_room(tickets, group, held, cap)
  local groups = key_of(tickets, 'groups')
  local own = redis.call('HGET', groups, group)
  return (own or held == 0 or redis.call('EXISTS', groups) == 1) and (own or 0) + 1 <= cap + 0
end

local function grant_under_rules(tickets, info, text, run, token, held, more, grant_one)
  local r, rules = read_request(text)
  local top, words = string.match(more, '^( top:%d+)(.*)$')
  words = words or more
  if not r.id or held < 0 or held >= run.limit + 0 or string.find(words, '^ [qhs]') then
    return nil
  end
  local s, at = { now = run.now + 0, meters = nil, ends = nil }, string.find(words, ' cap:', 1, true)
  read_meters(s, string.sub(words, 1, (at or 0) - 1), held)
  words = at and string.sub(words, at) or ''
  local is_known, cap = knows_rules(s, words, rules)
  if not is_known or pay_time(s, r, 0) > s.now or cap and not has_room(tickets, r.group, held, cap) then
    return nil
  end
  local note = charge(s, r)
  local label = r.group .. (note == '' and '' or ' ' .. note)
  label = label == '' and run.label or run.label .. ' ' .. label
  words = meters_text(s) .. words
  -- The keys must outlive their meters: each 2.8 hours the slow path renews their expiry.
  local is_long = (s.ends or 0) - s.now >= LONG_TTL_US
  local ticket = not is_long and grant_one(tickets, info, r.id, run, token, held, top, label, words)
  if ticket and cap then
    local groups = key_of(tickets, 'groups')
    redis.call('HINCRBY', groups, r.group, '1')
    if held == 0 then
      redis.call('PEXPIRE', groups, 'KEYS_LIFE_MS')
    end
  end
  return ticket
end

local slow
-- The slow path decides where the rules do not apply.
local function grant_or_wait(tickets, info, text, run, token, held, more, grant_one)
  local reply = token and more and grant_under_rules(tickets, info, text, run, token, held, more, grant_one)
  if not reply then
    slow = slow or slow_path()
    reply = slow(tickets, info, text, run)
  end
  return reply
end

return grant_or_wait
