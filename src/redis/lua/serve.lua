-- Fragment of make_slow: grants from the head of the queue for as long as the permits last, and says so to the waiters.
--
-- A dead process's requests are dropped; one that asks for more than a limit that has since shrunk is stepped over; any other that does
-- not fit blocks those behind it, so that small requests cannot starve it.

-- How long a granted ticket lives until its waiter claims it, and a process's requests without a sign of life from it (microseconds).
local CLAIM_TIME, WAITER_LEASE = 5000000, 5000000
-- Lines of one message.
local MOST_LINES = 100

-- Gives a ticket on the lowest free slots.
function M.grant(s, id, permits, label, expires)
  s.last = math.max(s.last + 1, now)
  local ticket = M.take_slots(s, permits) .. ' ' .. (s.last == now and now_text or digits(s.last))
  M.add(s.adds, digits(expires), id)
  M.add(s.fields, id, ticket .. ' ' .. label)
  s.count, s.ends = s.count + 1, math.max(s.ends or 0, expires)
  return ticket
end

function M.permits_of(id)
  return (string.match(id, '^[^.]+%.[^.~]+%.(%d+)') or 1) + 0
end

-- Whether the requests of a client count. `alive`: what is known of the clients.
local function is_alive(s, alive, who)
  if alive[who] == nil then
    local lease = redis.call('ZSCORE', s.queue, '@' .. who)
    alive[who] = lease and lease + LEASES > now
  end
  return alive[who]
end

-- Grants to one that waits. `own`: the requests of this call by id, which get their full ttl and hear of it by their verdict.
local function grant_waiting(s, id, record, own, ttl)
  local life, label = string.match(record or '', '^(%d+);(.*)$')
  local mine = own and own[id]
  local expires = now + (mine and ttl or math.min(life or CLAIM_TIME, CLAIM_TIME))
  local ticket = M.grant(s, id, M.permits_of(id), label or '?', expires)
  if mine then
    own[id] = ticket
    return
  end
  local who = string.match(id, '^[^.]+')
  s.grants[who] = s.grants[who] or {}
  table.insert(s.grants[who], id .. ' ' .. ticket .. ' ' .. digits(expires))
end

-- What becomes of the request at the head: 'dead', 'skip', 'block' or 'grant'.
local function fate(s, alive, id)
  local permits = M.permits_of(id)
  if not is_alive(s, alive, string.match(id, '^[^.]+')) then
    return 'dead'
  elseif permits > s.limit then
    return 'skip'
  end
  return s.held + permits > s.limit and 'block' or 'grant'
end

function M.serve(s, own, ttl)
  local alive, skipped = {}, 0
  while s.waiting > skipped and s.held < s.limit and not s.blocked do
    local most = math.min(s.limit - s.held, 100)
    local heads = redis.call('ZRANGEBYSCORE', s.queue, '0', '+inf', 'LIMIT', skipped, most)
    if #heads == 0 then
      s.waiting = redis.call('ZCOUNT', s.queue, '0', '+inf')
      return
    end
    local records, left, dead = redis.call('HMGET', s.meta, unpack(heads)), {}, {}
    for i = 1, #heads do
      local id, becomes = heads[i], s.blocked or fate(s, alive, heads[i])
      if becomes == 'grant' then
        grant_waiting(s, id, records[i], own, ttl)
      elseif becomes == 'skip' then
        skipped = skipped + 1
      elseif becomes == 'dead' then
        dead[#dead + 1] = id
      else
        s.blocked = true
      end
      if becomes == 'grant' or becomes == 'dead' then
        left[#left + 1] = id
      end
    end
    M.leave(s, left, dead)
  end
end

function M.leave(s, left, dead)
  if #left > 0 then
    s.waited = true
    s.waiting = s.waiting - redis.call('ZREM', s.queue, unpack(left))
  end
  if #dead > 0 then
    redis.call('HDEL', s.meta, unpack(dead))
  end
end

-- A message is 'id slots token expiry;…|name', the name as in the keys. A hint: where the user has no right to publish, waiters find
-- their grant by asking.
function M.publish(s)
  for who, lines in pairs(s.grants) do
    for first = 1, who ~= client and #lines or 0, MOST_LINES do
      M.tell(s, who, table.concat(lines, ';', first, math.min(first + MOST_LINES - 1, #lines)))
    end
  end
end

function M.tell(s, who, lines)
  redis.pcall('PUBLISH', channels .. who, lines .. '|' .. string.match(s.meta, '{([^{}]*)}[^{}]*$'))
end
