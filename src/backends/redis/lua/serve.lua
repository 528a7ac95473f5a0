-- Fragment of the slow paths: grants from the head of the queue for as long as the permits last.
--
-- A dead process's requests are dropped; one that asks for more than a limit that has since shrunk
-- waits aside; any other that does not fit blocks those behind it, so that small requests cannot
-- starve it.

-- The condition of every grant, besides its turn. `looks`: nothing is granted.
local function fits(s, permits)
  return not s.looks and s.held + permits <= s.limit and (not s.rate or rate_time(s, permits, 0) <= s.now)
end

-- Whether the requests of a client count. `alive`: what is known of the clients.
local function is_alive(s, alive, client)
  if alive[client] == nil then
    local lease = redis.call('ZSCORE', s.queue, '@' .. client)
    alive[client] = lease and lease + 9e15 > s.now
  end
  return alive[client]
end

-- Serves one that waits. `own`: see requests.lua. A ticket that nobody claims within 5 s comes
-- back.
local function serve_one(s, id, permits, record, own)
  s.served = (s.served or 0) + 1
  if own and own[id] then
    own[id] = grant(s, id, permits, s.run.label, s.now + s.run.ttl)
    return
  end
  local client = parts_of(id)
  local life, label = string.match(record or '', '^(%d+);(.*)$')
  local expires = s.now + math.min((life or CLAIM_TIME_US) + 0, CLAIM_TIME_US)
  local line = id .. ' ' .. grant(s, id, permits, label or '?', expires) .. ' ' .. text_of(expires)
  s.grants = s.grants or {}
  s.grants[client] = s.grants[client] or {}
  table.insert(s.grants[client], line)
end

-- Some of the first, in the order of arrival; those that leave the queue, and those of them that
-- are dead.
local function serve_heads(s, heads, alive, own)
  local records, left, dead = redis.call('HMGET', s.meta, unpack(heads)), {}, {}
  for i = 1, #heads do
    local id = heads[i]
    local client, permits = parts_of(id)
    if s.held >= s.limit then
      break
    elseif not is_alive(s, alive, client) then
      dead[#dead + 1], left[#left + 1] = id, id
    elseif permits > s.limit then
      s.parks = true
      break
    elseif not fits(s, permits) then
      s.blocked, s.turn = request_of(id, '', '', 0, 1, '').rank, s.held + permits <= s.limit and id
      break
    else
      left[#left + 1] = id
      serve_one(s, id, permits, records[i], own)
    end
  end
  return left, dead
end

-- Those for more than the limit, which may have grown: the ones for the fewest permits are first.
local function unpark(s, alive)
  while s.order.parked > 0 do
    local member = redis.call('ZRANGEBYSCORE', s.queue, '-1700000000000000', '(-1600000000000000', 'LIMIT', '0', '1')[1]
    local r = member and request_at(s, member)
    if not r then
      redis.call('ZREM', s.queue, member or '')
      s.order.parked, s.doubt = member and s.order.parked or 0, true
    elseif not is_alive(s, alive, (parts_of(r.id))) then
      leave(s, r, -1.7e15)
    elseif r.permits <= s.limit then
      redis.call('ZREM', s.queue, member)
      s.order.parked, s.moved = s.order.parked - 1, true
      join(s, r)
    else
      return
    end
  end
end

-- The first of all heads.
local function serve_first(s, r, score, alive, own)
  local is_dead = not is_alive(s, alive, (parts_of(r.id)))
  if not is_dead and r.permits > s.limit then
    return park(s, r, score)
  elseif not is_dead and not fits(s, r.permits) then
    s.blocked, s.turn = score, s.held + r.permits <= s.limit and r.id
    return
  end
  s.moved = true
  leave(s, r, score, not is_dead)
  if not is_dead then
    serve_one(s, r.id, r.permits, r.base, own)
  end
end

local function serve_in_order(s, alive, own)
  unpark(s, alive)
  while s.waiting > s.order.parked and s.held < s.limit and not s.blocked do
    local head, score = unpack(redis.call('ZRANGEBYSCORE', s.queue, '0', '(1400000000000000', 'WITHSCORES', 'LIMIT', '0', '1'))
    local r = head and request_at(s, head)
    if r then
      serve_first(s, r, score + 0, alive, own)
    else
      redis.call('ZREM', s.queue, head or '')
      s.waiting, s.doubt = head and s.waiting - 1 or s.order.parked, true
    end
  end
end

local function serve(s, own)
  local alive = {}
  while not s.order and s.waiting > 0 and s.held < s.limit and not s.blocked do
    local most = text_of(math.min(s.limit - s.held, s.rate and s.rate.burst or 100, 100))
    local heads = redis.call('ZRANGEBYSCORE', s.queue, '0', '+inf', 'LIMIT', '0', most)
    if not heads[1] then
      s.waiting = redis.call('ZCOUNT', s.queue, '0', '+inf')
      return
    end
    local left, dead = serve_heads(s, heads, alive, own)
    if left[1] then
      s.waiting = s.waiting - redis.call('ZREM', s.queue, unpack(left))
    end
    if dead[1] then
      s.moved = true
      redis.call('HDEL', s.meta, unpack(dead))
    end
    if s.parks then
      begin_order(s)
    end
  end
  if s.order then
    serve_in_order(s, alive, own)
  end
end
