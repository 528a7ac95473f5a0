-- Gives live tickets of any number of semaphores a new expiry.
--
-- 1. If all tickets are live, none of the semaphore has expired, no other limit is stored and the
--    keys live long enough, the new expiries are written and nothing else.
-- 2. Every other case takes the slow path: open a semaphore, drop what has expired, renew each,
--    serve the queue, close.
-- 3. A ticket that is gone stays gone. A late acquire, or its second run, may have got another
--    ticket under the same id: that ticket has another token.
-- 4. A revoked ticket is reported as revoked for as long as it could have lived.
-- 5. A second run changes nothing but the expiry.
--
-- KEYS  tickets, info of each semaphore, see semaphore.lua
-- ARGV  1 the caller's inbox channel, which ends in ':' and its name
--       then runs of semaphores with '' between: limit (0: not known), ttl (microseconds), and for
--       each semaphore 'ids|tokens', two JSON lists; no tokens: whatever they are
-- Reply see close.lua. A verdict is 1 extended, 0 gone, r revoked
-- Cost  O(log n) for each id, expired ticket and grant

-- include: time
-- on demand: slow_path = extend-slow
local function has_token(record, token)
  local found = string.match(record or '', '^[%d,-]+ (%d+) ')
  return found and (not token or found == token)
end

-- The usual case, else nil.
local function extend_plain(tickets, info, ids, tokens, run)
  local found, adds = redis.call('HMGET', info, 'state', unpack(ids)), {}
  local known = string.match(found[1] or '', '^%d+ (%d+)')
  if known ~= run.limit or string.find(found[1], ' stored:', 1, true)
    or redis.call('ZCOUNT', tickets, '0', run.now) > 0
    or redis.call('PTTL', tickets) < run.ttl / 1000 + KEYS_LIFE_MS / 2 then
    return nil
  end
  for i = 1, #ids do
    if not has_token(found[i + 1], tokens[i]) then
      return nil
    end
    adds[2 * i - 1], adds[2 * i] = run.expires, ids[i]
  end
  -- At maxmemory the first write decides whether a script may run: this write takes no memory.
  redis.call('HDEL', info, '')
  -- A ticket that has this expiry already is not counted: the slow path reads it again.
  return redis.call('ZADD', tickets, 'XX', 'CH', unpack(adds)) == #ids and string.rep('1', #ids) or nil
end

local replies, total, at, slow = {}, 0, 2, nil
while ARGV[at] do
  local run = { inbox = ARGV[1], now = now_text, limit = ARGV[at], ttl = ARGV[at + 1] + 0 }
  run.expires, at = string.format('%d', now_text + run.ttl), at + 2
  while (ARGV[at] or '') ~= '' do
    local key, listed, tokens = 2 * total + 1, string.match(ARGV[at], '^(.*)|(.*)$')
    local tickets, info, ids = KEYS[key], KEYS[key + 1], cjson.decode(listed)
    tokens, total, at = cjson.decode(tokens), total + 1, at + 1
    local reply = extend_plain(tickets, info, ids, tokens, run)
    slow = slow or not reply and slow_path()
    replies[total] = reply or slow(tickets, info, ids, tokens, run, has_token)
  end
  at = at + 1
end
return now_text .. '|' .. table.concat(replies, '|')
