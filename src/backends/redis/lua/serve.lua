-- Fragment of the slow paths: requests come and leave, and permits go to the first of those that
-- wait for as long as they last. Requests of dead processes are dropped; one that asks for more
-- than a limit that has since shrunk waits aside; any other that does not fit blocks those behind
-- it, so that small requests cannot starve it.
-- include: records slots rate order recount

-- With its lease all requests of a client count.
local function is_alive(s, client)
  if s.alive[client] == nil then
    local lease = redis.call('ZSCORE', s.clients, client)
    s.alive[client] = lease and lease + 0 > s.now
  end
  return s.alive[client]
end

-- Puts a request into the queue.
local function enqueue(s, r)
  local order = r.is_plain and r.costs == '' and '' or ' ' .. text_of(r.priority) .. ' ' .. r.weight .. ' ' .. r.group
  order = order .. (r.costs == '' and '' or ' ' .. r.costs)
  redis.call('HSET', s.requests, r.id, r.place .. ' ' .. text_of(r.life) .. ' ' .. r.label .. order)
  s.waiting, s.waited = s.waiting + 1, true
  join(s, r)
end

local function leave(s, r, is_granted)
  redis.call('HDEL', s.requests, r.id)
  s.waiting = s.waiting - 1
  if not s.parks or redis.call('ZREM', s.parked, r.id) == 0 then
    leave_flow(s, r, is_granted)
  end
end

-- Drops the requests of dead clients, so that the others can be counted.
local function sweep(s)
  local records = redis.call('HGETALL', s.requests)
  for i = 1, #records, 2 do
    local r = request_of(s, records[i], records[i + 1])
    if r and not is_alive(s, r.client) then
      leave(s, r)
    end
  end
end

-- Renews the lease of the client, if it has one or `how` is CH, and drops those that are over. A
-- caller with a bound drops their requests as well, to count the others; another one leaves word of
-- it by the lease of nobody, '.', to the next that has a bound.
local function renew_lease(s, how)
  -- At maxmemory a script may add once it has removed.
  redis.call('ZREMRANGEBYSCORE', s.clients, '+inf', '-inf')
  redis.call('ZADD', s.clients, how, text_of(s.now + WAITER_LEASE_US), s.client)
  local dropped = redis.call('ZREMRANGEBYSCORE', s.clients, s.most and '-inf' or '(0', text_of(s.now)) > 0
  if dropped and not s.most then
    redis.call('ZADD', s.clients, '0', '.')
  end
  s.alive[s.client] = nil
  s.touched[s.clients], s.touched[s.requests] = true, true
  if dropped and s.most then
    sweep(s)
  end
end

-- The condition of every grant, besides its turn. `looks`: nothing is granted.
local function fits(s, r)
  return not s.looks and s.held + r.permits <= s.limit and pay_time(s, r, 0) <= s.now
end

-- Gives a ticket on the lowest free slots.
local function grant(s, r, label, life)
  local slots, left, expires = {}, r.permits, s.now + life
  s.count, s.ends = s.count + 1, math.max(s.ends or 0, expires)
  local charged = charge(s, r)
  if s.cap then
    count_group(s, r.group, r.permits)
  end
  while left > 0 do
    local first, last = take(s, left)
    slots[#slots + 1], left = range_text(first, last), left - (last - first + 1)
  end
  local ticket = table.concat(slots, ',') .. ' ' .. next_number(s)
  add(s.adds, text_of(expires), r.id)
  local terms = r.group .. (charged == '' and '' or ' ' .. charged)
  add(s.fields, r.id, ticket .. ' ' .. label .. (terms == '' and '' or ' ' .. terms))
  return ticket
end

-- Grants one that waits. `own`: the verdicts on requests of this call, by id. A ticket of others
-- that nobody claims within 5 s comes back.
local function give(s, r, own)
  s.served = s.served + 1
  if own and own[r.id] then
    own[r.id] = grant(s, r, s.run.label, s.run.ttl)
    return
  end
  local life = math.min(r.life, CLAIM_TIME_US)
  local line = r.id .. ' ' .. grant(s, r, r.label, life) .. ' ' .. text_of(s.now + life)
  s.grants[r.client] = s.grants[r.client] or {}
  table.insert(s.grants[r.client], line)
end

local function park(s, r)
  leave_flow(s, r)
  redis.call('ZADD', s.parked, text_of(r.permits), r.id)
  s.parks, s.touched[s.parked] = true, true
end

-- Those for more than the limit, which may have grown: the ones for the fewest permits are first.
local function unpark(s)
  while s.parks do
    local found = redis.call('ZRANGE', s.parked, '0', '0', 'WITHSCORES')
    local r = request_of(s, found[1], redis.call('HGET', s.requests, found[1] or ''))
    s.parks = r and true
    if r and not is_alive(s, r.client) then
      leave(s, r)
    elseif r and r.permits <= s.limit then
      redis.call('ZREM', s.parked, r.id)
      s.moved = true
      join(s, r)
    else
      return
    end
  end
end

-- The first that does not fit, and whether the rate alone holds it back.
local function block(s, r, tag)
  s.blocked, s.blocked_tag = r, tag
  s.turn = s.held + r.permits <= s.limit and r
end

local function serve(s, own)
  unpark(s)
  while s.waiting > 0 and s.held < s.limit and not s.blocked do
    local r, tag = first(s)
    if r == nil then
      return
    elseif not r then
      recount_queue(s)
    elseif not is_alive(s, r.client) then
      s.moved = true
      leave(s, r)
    elseif r.permits > s.limit then
      park(s, r)
    elseif not fits(s, r) then
      block(s, r, tag)
    else
      s.moved = s.moved or is_ordered(s)
      give(s, r, own)
      leave(s, r, true)
    end
  end
end
