-- Fragment of make_slow: grants from the head of the queue for as long as the permits last, and says so to the waiters.
--
-- A dead process's requests are dropped; one that asks for more than a limit that has since shrunk is stepped over; any other that does
-- not fit blocks those behind it, so that small requests cannot starve it.

-- Whose request it is, and for how many permits. An adopted ticket's id goes on with ~.
local function parts_of(id)
  local who, permits = string.match(id, '^([^.]*)%.?[^.~]*%.?(%d*)')
  return who, permits == '' and 1 or permits + 0
end

-- Whether the requests of a client count. `alive`: what is known of the clients.
local function is_alive(s, alive, who)
  if alive[who] == nil then
    local lease = redis.call('ZSCORE', s.queue, '@' .. who)
    alive[who] = lease and lease + 9e15 > now
  end
  return alive[who]
end

-- Grants to one that waits. `own`: the requests of this call by id, which get their full ttl and hear of it by their verdict. A ticket that
-- nobody claims within 5 s comes back.
local function grant_waiting(s, id, who, permits, record, own, ttl)
  local life, label = string.match(record or '', '^(%d+);(.*)$')
  if own and own[id] then
    own[id] = grant(s, id, permits, label or '?', now + ttl)
    return
  end
  local expires = now + math.min((life or CLAIM_TIME_US) + 0, CLAIM_TIME_US)
  local line = id .. ' ' .. grant(s, id, permits, label or '?', expires) .. ' ' .. text_of(expires)
  local lines = s.grants or {}
  s.grants, lines[who] = lines, lines[who] or {}
  lines[who][#lines[who] + 1] = line
end

local function leave(s, left, dead)
  if left[1] then
    s.waited, s.waiting = true, s.waiting - redis.call('ZREM', s.queue, unpack(left))
  end
  if dead[1] then
    redis.call('HDEL', s.meta, unpack(dead))
  end
end

local function serve(s, own, ttl)
  local alive, skipped = {}, 0
  while s.waiting > skipped and s.held < s.limit and not s.blocked do
    local most = text_of(math.min(s.limit - s.held, 100))
    local heads = redis.call('ZRANGEBYSCORE', s.queue, '0', '+inf', 'LIMIT', text_of(skipped), most)
    if not heads[1] then
      s.waiting = redis.call('ZCOUNT', s.queue, '0', '+inf')
      return
    end
    local records, left, dead = redis.call('HMGET', s.meta, unpack(heads)), {}, {}
    for i = 1, #heads do
      local id = heads[i]
      local who, permits = parts_of(id)
      if not is_alive(s, alive, who) then
        dead[#dead + 1], left[#left + 1] = id, id
      elseif permits > s.limit then
        skipped = skipped + 1
      elseif s.held + permits > s.limit then
        s.blocked = true
        break
      else
        grant_waiting(s, id, who, permits, records[i], own, ttl)
        left[#left + 1] = id
      end
    end
    leave(s, left, dead)
  end
end
