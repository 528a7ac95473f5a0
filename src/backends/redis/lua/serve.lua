-- Fragment of the slow paths: grants from the head of the queue for as long as the permits last.
--
-- A dead process's requests are dropped; one that asks for more than a limit that has since shrunk
-- is stepped over; any other that does not fit blocks those behind it, so that small requests
-- cannot starve it.

-- The condition of every grant, besides its turn.
local function fits(s, permits)
  return s.held + permits <= s.limit and (not s.rate or rate_time(s, permits, 0) <= s.now)
end

-- Whether the requests of a client count. `alive`: what is known of the clients.
local function is_alive(s, alive, client)
  if alive[client] == nil then
    local lease = redis.call('ZSCORE', s.queue, '@' .. client)
    alive[client] = lease and lease + 9e15 > s.now
  end
  return alive[client]
end

-- A ticket that nobody claims within 5 s comes back.
local function grant_waiting(s, id, client, permits, record)
  local life, label = string.match(record or '', '^(%d+);(.*)$')
  local expires = s.now + math.min((life or CLAIM_TIME_US) + 0, CLAIM_TIME_US)
  local line = id .. ' ' .. grant(s, id, permits, label or '?', expires) .. ' ' .. text_of(expires)
  s.grants = s.grants or {}
  s.grants[client] = s.grants[client] or {}
  table.insert(s.grants[client], line)
end

-- Some of the heads; those that leave the queue, and those of them that are dead. `own`: see
-- requests.lua.
local function serve_heads(s, heads, alive, own, ttl, label)
  local records, left, dead = redis.call('HMGET', s.meta, unpack(heads)), {}, {}
  for i = 1, #heads do
    local id = heads[i]
    local client, permits = parts_of(id)
    if s.held >= s.limit then
      break
    elseif not is_alive(s, alive, client) then
      dead[#dead + 1], left[#left + 1] = id, id
    elseif permits > s.limit then
      s.skipped = s.skipped + 1
    elseif not fits(s, permits) then
      s.blocked, s.turn = true, s.held + permits <= s.limit and id
      break
    else
      left[#left + 1] = id
      if own and own[id] then
        own[id] = grant(s, id, permits, label, s.now + ttl)
      else
        grant_waiting(s, id, client, permits, records[i])
      end
    end
  end
  return left, dead
end

local function serve(s, own, ttl, label)
  local alive = {}
  s.skipped = 0
  while s.waiting > s.skipped and s.held < s.limit and not s.blocked do
    local most = text_of(math.min(s.limit - s.held, s.rate and s.rate.burst or 100, 100))
    local heads = redis.call('ZRANGEBYSCORE', s.queue, '0', '+inf', 'LIMIT', text_of(s.skipped), most)
    if not heads[1] then
      s.waiting = redis.call('ZCOUNT', s.queue, '0', '+inf')
      return
    end
    local left, dead = serve_heads(s, heads, alive, own, ttl, label)
    if left[1] then
      s.waiting = s.waiting - redis.call('ZREM', s.queue, unpack(left))
    end
    if dead[1] then
      s.dropped = true
      redis.call('HDEL', s.meta, unpack(dead))
    end
  end
end
