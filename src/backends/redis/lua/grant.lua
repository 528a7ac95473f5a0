-- Fragment of the slow paths: a free permit goes to a request.
-- include: records slots caps gcra

-- The next token or arrival.
local function next_number(s)
  s.last = math.max(s.last + 1, s.now)
  return text_of(s.last)
end

-- The condition of every grant, besides its turn.
local function fits(s, r)
  return s.held + r.permits <= s.limit and pay_time(s, r) <= s.now
end

-- Gives a ticket on the lowest free slots.
local function grant(s, r, label, life)
  local expires = s.now + life
  s.count, s.ends = s.count + 1, math.max(s.ends or 0, expires)
  if s.cap then
    count_group(s.groups, r.group, text_of(r.permits))
  end
  local ticket = take(s, r.permits) .. ' ' .. next_number(s)
  add(s.adds, text_of(expires), r.id)
  add(s.fields, r.id, ticket .. ' ' .. label .. charge(s, r))
  return ticket
end
