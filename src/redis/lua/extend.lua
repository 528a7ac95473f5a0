-- Gives live tickets of any number of semaphores a new expiry. A ticket that is gone stays gone, also where a call that was late, or ran
-- twice, has been granted another one under its id: that one has another token.
--
-- KEYS  tickets, meta, queue of each semaphore
-- ARGV  1 what all inbox channels begin with   2 the caller's name
--       then runs of semaphores: limit (0: not known), ttl (microseconds), how many, and for each one its ids and their tokens, each with spaces
--       between; no tokens: whatever they are
-- Reply 'now|semaphore|…', a semaphore being 'verdicts', or 'verdicts/limit/grants/': see slow.lua. A verdict is 1 extended, 0 gone, r revoked
-- Cost  O(log n) for each id, expired ticket and grant

-- include: time ids
local function has_token(record, token)
  local found = string.match(record or '', '^[%d,-]+ (%d+) ')
  return found and (not token or found == token)
end

-- The usual case: all are live and nothing has expired. Nil where it does not apply.
local function extend_plain(tickets, meta, limit, ids, tokens, ttl, now_text)
  local found, adds, expiry = redis.call('HMGET', meta, 'state', unpack(ids)), {}, string.format('%d', now_text + ttl)
  local known = string.sub(found[1] or '', 18, 19 + #limit)
  if known ~= limit and known ~= limit .. '; ' or redis.call('ZCOUNT', tickets, '0', now_text) > 0 then
    return nil
  end
  for i = 1, #ids do
    if not has_token(found[i + 1], tokens[i]) then
      return nil
    end
    adds[2 * i - 1], adds[2 * i] = expiry, ids[i]
  end
  if redis.call('PTTL', tickets) < ttl / 1000 + 43200000 then
    return nil
  end
  -- Whether a script may run at maxmemory is decided by its first write: this one takes no memory.
  redis.call('HDEL', meta, '')
  -- Where a ticket is missing, or has that very expiry already, slow.lua looks again.
  return redis.call('ZADD', tickets, 'XX', 'CH', unpack(adds)) == #ids and string.rep('1', #ids) or nil
end

local function make_slow(now_text, channels, client)
  -- include: slow slots serve
  function S.verdict(s, id, record, token, expires)
    if has_token(record, token) then
      s.add(s.adds, string.format('%d', expires), id)
      s.ends = expires
      return '1'
    end
    local revoked = redis.call('HGET', s.meta, 'revoked')
    return revoked and string.find(';' .. revoked, ';' .. id .. ' ', 1, true) and 'r' or '0'
  end

  function S.extend(s, ids, tokens, ttl)
    redis.call('HDEL', s.meta, '')
    local records, verdicts = s:records(ids), {}
    for i = 1, #ids do
      verdicts[i] = s:verdict(ids[i], records[i], tokens[i], s.now + ttl)
    end
    s:serve()
    return s:close(table.concat(verdicts))
  end
  return S
end

local now_text, problem = server_time()
if problem then
  return redis.error_reply(problem)
end
local slow
local replies, key, at = { now_text }, 1, 3
while ARGV[at] do
  local limit, ttl, last = ARGV[at], ARGV[at + 1], at + 2 + 2 * ARGV[at + 2]
  for i = at + 3, last, 2 do
    local tickets, meta, queue, ids, tokens = KEYS[key], KEYS[key + 1], KEYS[key + 2], ids_in(ARGV[i]), ids_in(ARGV[i + 1])
    local reply = extend_plain(tickets, meta, limit, ids, tokens, ttl, now_text)
    if not reply then
      slow = slow or make_slow(now_text, ARGV[1], ARGV[2])
      reply = slow:open(tickets, meta, queue, limit):extend(ids, tokens, ttl)
    end
    replies[#replies + 1] = reply
    key = key + 3
  end
  at = last + 1
end
return table.concat(replies, '|')
