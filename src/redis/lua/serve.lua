-- Fragment of make_slow: grants from the head of the queue for as long as the permits last, and says so to the waiters.
--
-- A dead process's requests are dropped; one that asks for more than a limit that has since shrunk is stepped over; any other that does
-- not fit blocks those behind it, so that small requests cannot starve it.

-- Gives a ticket on the lowest free slots.
function S.grant(s, id, permits, label, expires)
  s.last = math.max(s.last + 1, s.now)
  local ticket = s:take_slots(permits) .. ' ' .. (s.last == s.now and s.now_text or string.format('%d', s.last))
  s.add(s.adds, string.format('%d', expires), id)
  s.add(s.fields, id, ticket .. ' ' .. label)
  s.count, s.ends = s.count + 1, math.max(s.ends or 0, expires)
  return ticket
end

function S.permits_of(id)
  return (string.match(id, '^[^.]+%.[^.~]+%.(%d+)') or 1) + 0
end

-- Whether the requests of a client count. `alive`: what is known of the clients.
function S.is_alive(s, alive, who)
  if alive[who] == nil then
    local lease = redis.call('ZSCORE', s.queue, '@' .. who)
    alive[who] = lease and lease + s.LEASES > s.now
  end
  return alive[who]
end

-- Grants to one that waits. `own`: the requests of this call by id, which get their full ttl and hear of it by their verdict.
function S.grant_waiting(s, id, record, own, ttl)
  local life, label = string.match(record or '', '^(%d+);(.*)$')
  local mine = own and own[id]
  local expires = s.now + (mine and ttl or math.min((life or s.CLAIM_TIME) + 0, s.CLAIM_TIME))
  local ticket = s:grant(id, s.permits_of(id), label or '?', expires)
  if mine then
    own[id] = ticket
    return
  end
  local who = string.match(id, '^[^.]+')
  s.grants = s.grants or {}
  s.grants[who] = s.grants[who] or {}
  table.insert(s.grants[who], id .. ' ' .. ticket .. ' ' .. string.format('%d', expires))
end

-- What becomes of the request at the head: 'dead', 'skip', 'block' or 'grant'.
function S.fate(s, alive, id)
  local permits = s.permits_of(id)
  if not s:is_alive(alive, string.match(id, '^[^.]+')) then
    return 'dead'
  elseif permits > s.limit then
    return 'skip'
  end
  return s.held + permits > s.limit and 'block' or 'grant'
end

function S.serve(s, own, ttl)
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
      local id, becomes = heads[i], s.blocked or s:fate(alive, heads[i])
      if becomes == 'grant' then
        s:grant_waiting(id, records[i], own, ttl)
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
    s:leave(left, dead)
  end
end

function S.leave(s, left, dead)
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
function S.publish(s)
  for who, lines in pairs(s.grants) do
    -- A message has at most 100 lines.
    for first = 1, who ~= s.client and #lines or 0, 100 do
      s:tell(who, table.concat(lines, ';', first, math.min(first + 99, #lines)))
    end
  end
end

function S.tell(s, who, lines)
  redis.pcall('PUBLISH', s.channels .. who, lines .. '|' .. string.match(s.meta, '{([^{}]*)}[^{}]*$'))
end
