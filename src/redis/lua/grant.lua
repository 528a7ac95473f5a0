-- Fragment: gives free permits to the head of the queue, writes tickets, pushes grants.

-- How long a granted ticket lives until its waiter claims it, and how long a process's queued requests
-- count without a sign of life from it (microseconds).
local CLAIM_TIME, WAITER_LEASE = 2000000.0, 5000000.0

local client = ARGV[4]
local grants, tokens = {}, {}
local blocked = false

local function permits_of(id)
  return (string.match(id, '%.[^.]+%.(%d+)$') or 1) * 1.0
end

local function grant(id, permits, expiry)
  held = held + permits
  grants[#grants + 1] = { id = id, permits = permits, expiry = expiry }
end

-- Grants from the head for as long as the permits last. A dead process's requests are dropped; one that
-- asks for more than a limit that has since shrunk is stepped over; any other that does not fit blocks
-- those behind it, so that small requests cannot starve it. `ttl`: lives of the ids in `own`.
local function serve_queue(own, ttl)
  local alive, labels, skipped = { [client] = own ~= nil }, {}, 0
  local function lives(who)
    if not alive[who] then
      alive[who] = redis.call('ZSCORE', waiters, who) or nil
    end
    return alive[who]
  end
  while waiting > skipped and held < limit and not blocked do
    local wanted = math.min(limit - held, 500)
    local heads = redis.call('ZRANGE', queue, f(skipped), f(skipped + wanted - 1))
    local gone = {}
    for i = 1, #heads do
      local id, permits = heads[i], permits_of(heads[i])
      if not lives(string.match(id, '^[^.]+')) then
        gone[#gone + 1] = id
      elseif permits > limit then
        skipped = skipped + 1
      elseif held + permits > limit then
        blocked = true
        break
      else
        grant(id, permits, own and own[id] and now + ttl or now + CLAIM_TIME)
        gone[#gone + 1] = id
      end
    end
    if #gone > 0 then
      waiting = waiting - redis.call('ZREM', queue, unpack(gone))
    end
  end
end

-- The lowest free slots for all grants at once.
local function take_slots()
  local total = 0
  for i = 1, #grants do
    total = total + grants[i].permits
  end
  local reused = {}
  if top + total > held then
    reused = redis.call('ZRANGE', free, 0, f(total - 1))
    if #reused > 0 then
      redis.call('ZREMRANGEBYRANK', free, 0, #reused - 1)
    end
  end
  local at = 1
  for i = 1, #grants do
    local parts, left = {}, grants[i].permits
    while left > 0 and reused[at] do
      parts[#parts + 1] = reused[at]
      at, left = at + 1, left - 1
    end
    if left == 1 then
      parts[#parts + 1] = f(top)
    elseif left > 1 then
      parts[#parts + 1] = f(top) .. '-' .. f(top + left - 1)
    end
    top = top + left
    grants[i].slots = table.concat(parts, ',')
  end
end

-- Writes the tickets of all grants: 'token slots' of each is in `tokens` by id afterwards.
local function write_grants(label)
  if #grants == 0 then
    return
  end
  changed = true
  take_slots()
  local labels, scores, records = { [client] = label }, {}, {}
  for i = 1, #grants do
    local g = grants[i]
    local who = string.match(g.id, '^[^.]+')
    if not labels[who] then
      labels[who] = redis.call('HGET', meta, 'label.' .. who) or '?'
    end
    last = math.max(last + 1, now)
    tokens[g.id] = f(last) .. ' ' .. g.slots
    scores[2 * i - 1], scores[2 * i] = f(g.expiry), g.id
    records[2 * i - 1] = g.id
    records[2 * i] = g.slots .. ' ' .. f(last) .. ' ' .. f(now) .. ' ' .. labels[who]
  end
  spread('ZADD', tickets, scores)
  spread('HSET', slots, records)
end

-- Tells waiters of their grants: those of the calling client go with the reply, the rest is pushed.
-- A push is a hint: where the user has no right to publish, waiters find their grant by asking.
local function tell_waiters(own)
  local told, messages = {}, {}
  for i = 1, #grants do
    local g = grants[i]
    if not (own and own[g.id]) then
      local who = string.match(g.id, '^[^.]+')
      local line = g.id .. ' ' .. tokens[g.id] .. ' ' .. f(g.expiry)
      if who == client then
        told[#told + 1] = line
      else
        messages[who] = messages[who] and messages[who] .. ';' .. line or line
      end
    end
  end
  for who, message in pairs(messages) do
    redis.pcall('PUBLISH', ARGV[3] .. who, message)
  end
  return table.concat(told, ';')
end

-- Writes what the keys must know next time. `renewed`: tickets or requests were written, so that keys may
-- have to live longer. No key's expiry ever moves back past a live ticket's.
local function settle(renewed)
  if changed then
    redis.call('HSET', meta, 'v', '1', 'last', f(last), 'top', f(top), 'held', f(held))
  end
  if waited and waiting == 0 and redis.call('DEL', waiters) == 1 then
    forget_clients()
  end
  if renewed or #grants > 0 or (changed and not some(stored[1])) then
    local longest = redis.call('ZRANGE', tickets, -1, -1, 'WITHSCORES')
    local at = (longest[2] or now) * 1.0
    if waiting > 0 then
      at = math.max(at, now + WAITER_LEASE)
      redis.call('PEXPIRE', queue, f((at - now) / 1000 + 1000))
      redis.call('PEXPIRE', waiters, f((at - now) / 1000 + 1000))
    end
    local life = f((at - now) / 1000 + 1000)
    redis.call('PEXPIRE', tickets, life)
    redis.call('PEXPIRE', slots, life)
    redis.call('PEXPIRE', free, life)
    redis.call('PEXPIRE', meta, f((at - now) / 1000 + 86400000))
  end
end
