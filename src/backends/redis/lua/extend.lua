-- Gives live tickets of any number of semaphores a new expiry. A ticket that is gone stays gone, also where a call that was late, or ran
-- twice, has been granted another one under its id: that one has another token.
--
-- KEYS  tickets, meta, queue of each semaphore
-- ARGV  1 the caller's inbox channel, which ends in ':' and its name
--       then runs of semaphores with '' between: limit (0: not known), ttl (microseconds), and for each semaphore 'ids|tokens', two JSON
--       lists; no tokens: whatever they are
-- Reply 'now|semaphore|…', a semaphore being 'verdicts', or 'verdicts/limit/grants/': see slow.lua. A verdict is 1 extended, 0 gone, r revoked
-- Cost  O(log n) for each id, expired ticket and grant

-- include: time
local function has_token(record, token)
  local found = string.match(record or '', '^[%d,-]+ (%d+) ')
  return found and (not token or found == token)
end

-- The usual case: all are live, nothing has expired, and no other limit is stored. Nil where it does not apply.
local function extend_plain(tickets, meta, limit, ids, tokens, ttl, expires, now_text)
  local found, adds = redis.call('HMGET', meta, 'state', unpack(ids)), {}
  local known, stored, rest = string.match(found[1] or '', '^%d+ (%d+);?(%d*)(.*)$')
  if known ~= limit or stored ~= '' and rest ~= '' or redis.call('ZCOUNT', tickets, '0', now_text) > 0 then
    return nil
  end
  for i = 1, #ids do
    if not has_token(found[i + 1], tokens[i]) then
      return nil
    end
    adds[2 * i - 1], adds[2 * i] = expires, ids[i]
  end
  if redis.call('PTTL', tickets) < ttl / 1000 + 43200000 then
    return nil
  end
  -- Whether a script may run at maxmemory is decided by its first write: this one takes no memory.
  redis.call('HDEL', meta, '')
  -- Where a ticket is missing, or has that very expiry already, slow.lua looks again.
  return redis.call('ZADD', tickets, 'XX', 'CH', unpack(adds)) == #ids and string.rep('1', #ids) or nil
end

local function make_slow(inbox, now_text)
  local now = now_text + 0
  -- include: slow slots serve close
  return function(tickets, meta, queue, limit, ids, tokens, ttl)
    local s = open(tickets, meta, queue, limit)
    redis.call('HDEL', meta, '')
    local records, verdicts, known = redis.call('HMGET', meta, unpack(ids)), {}, {}
    for i = 1, #ids do
      known[ids[i]] = has_token(records[i])
    end
    if lacks_record(s, ids, known) then
      recount(s)
    end
    for i = 1, #ids do
      if has_token(records[i], tokens[i]) then
        add_ticket(s, ids[i], now + ttl)
        verdicts[i], s.renews = '1', true
      else
        local revoked = redis.call('HGET', meta, 'revoked')
        verdicts[i] = revoked and string.find(';' .. revoked, ';' .. ids[i] .. ' ', 1, true) and 'r' or '0'
      end
    end
    serve(s)
    return close(s, table.concat(verdicts))
  end
end

local now_text = server_time()
local slow
local replies, total, at = {}, 0, 2
while ARGV[at] do
  local limit, ttl = ARGV[at], ARGV[at + 1] + 0
  local expires = string.format('%d', now_text + ttl)
  at = at + 2
  while (ARGV[at] or '') ~= '' do
    local key, listed, tokens = 3 * total + 1, string.match(ARGV[at], '^(.*)|(.*)$')
    local tickets, meta, queue, ids = KEYS[key], KEYS[key + 1], KEYS[key + 2], cjson.decode(listed)
    tokens, total, at = cjson.decode(tokens), total + 1, at + 1
    local reply = extend_plain(tickets, meta, limit, ids, tokens, ttl, expires, now_text)
    if not reply then
      slow = slow or make_slow(ARGV[1], now_text)
      reply = slow(tickets, meta, queue, limit, ids, tokens, ttl)
    end
    replies[total] = reply
  end
  at = at + 1
end
return now_text .. '|' .. table.concat(replies, '|')
