-- Grants tickets, or queues their requests, of any number of semaphores.
--
-- KEYS  tickets, meta, queue of each semaphore
-- ARGV  1 the caller's inbox channel, which ends in ':' and its name; after a '*': grant all if each is plainly free, else nothing
--       then runs of semaphores with '' between: limit, ttl (microseconds), label (without spaces, ; or |), not after (microseconds, or ''),
--       and for each semaphore its requests: the id of one that waits, '?' and the id of one that only tries, or ' ids' of some that
--       wait, each of one permit, or ' ids|kinds|places' with a letter for each id, w to wait or t to try only, and a number for
--       each, its place in the queue as an earlier reply said, or 0 (nothing: all 0). Ids and places have spaces between
-- Reply 'now|semaphore|…', a semaphore being 'verdicts', or 'verdicts/limit/grants/nearest': see slow.lua. A verdict is 'slots token', '*n slot token'
--       for n of one permit with rising slots and tokens, 'q' and the place, 'b' when busy, 'l' when late, 'o' and the limit where more
--       permits are asked for, with ; between. With '*', where one is not plainly free: 'now|' and its number, from 1
-- Cost  O(log n) for each request, expired ticket and grant; a call that runs twice changes nothing the second time

-- include: time ids
-- The token of the next ticket where the usual case applies: permits for so many, nobody waits, no slot is free below those in use, nothing
-- has expired, and nobody changed the keys by hand. Else nil. And what was read. Writes nothing.
local function next_token(tickets, meta, limit, wanted, ttl, now_text, now)
  local state, held = redis.call('HGET', meta, 'state'), redis.call('ZCARD', tickets) - 1
  if not state or string.sub(state, 18) ~= limit or held < 0 or held + wanted > limit + 0 or ttl > 43200000000.0 then
    return nil, held, state
  end
  if held > 0 and (redis.call('ZCOUNT', tickets, '0', now_text) > 0 or redis.call('HLEN', meta) ~= held + 2) then
    return nil, held, state
  end
  local last = tonumber(string.sub(state, 1, 16)) or 0
  -- In another period of 2.8 hours the keys' expiry is to be renewed.
  if last - last % 1e10 + 1e10 <= now then
    return nil, held, state
  end
  return last < now and now_text or string.format('%d', last + 1), held, state
end

-- Nil where its id is known already; then nothing was written that slow.lua does not set right. So it is below.
local function grant_one(tickets, meta, limit, id, held, token, label, expires)
  if redis.call('ZADD', tickets, expires, id) == 0 then
    return nil
  end
  local ticket = string.format('%d ', held) .. token
  redis.call('HSET', meta, id, ticket .. ' ' .. label, 'state', token .. ' ' .. limit)
  return ticket
end

local function grant_many(tickets, meta, limit, ids, held, token, label, expires)
  local total, adds, fields = #ids, {}, {}
  -- Tokens are written as a common start and six digits, as printing a whole one takes as long as a Redis call.
  local start, digits, ending = string.sub(token, 1, 10), string.sub(token, 11) + 0, ' ' .. label
  if digits + total > 1000000 then
    return nil
  end
  for i = 1, total do
    local k = 2 * i
    adds[k - 1], adds[k] = expires, ids[i]
    fields[k - 1], fields[k] = ids[i], string.format('%d %s%06d', held + i - 1, start, digits + i - 1) .. ending
  end
  if redis.call('ZADD', tickets, unpack(adds)) < total then
    return nil
  end
  fields[2 * total + 1], fields[2 * total + 2] = 'state', string.format('%s%06d ', start, digits + total - 1) .. limit
  redis.call('HSET', meta, unpack(fields))
  return string.format('*%d %d ', total, held) .. token
end

-- A name that was never used, or not for a day.
local function grant_first(tickets, meta, queue, limit, id, label, ttl, expires, now_text)
  if redis.call('EXISTS', meta, queue) > 0 then
    return nil
  end
  local life = string.format('%d', 86400000 + math.ceil(ttl / 1000))
  redis.call('ZADD', tickets, '9000000000000000', '.', expires, id)
  redis.call('HSET', meta, 'layout', '2', id, '0 ' .. now_text .. ' ' .. label, 'state', now_text .. ' ' .. limit)
  redis.call('PEXPIRE', tickets, life)
  redis.call('PEXPIRE', meta, life)
  return '0 ' .. now_text
end

local function grant_plain(tickets, meta, queue, limit, text, ttl, label, expires, now_text, now, known)
  local first, ids = string.byte(text), nil
  if first == 32 then
    if string.find(text, '|', 1, true) then
      return nil
    end
    ids = ids_in(text)
  end
  local id, token, held, state = first == 63 and string.sub(text, 2) or text, nil, -1, false
  if not known then
    token, held, state = next_token(tickets, meta, limit, ids and #ids or 1, ttl, now_text, now)
  elseif known ~= '' then
    token, held = string.sub(known, 1, 16), string.sub(known, 17) + 0
  end
  local reply
  if not token then
    reply = held == -1 and not state and not ids and grant_first(tickets, meta, queue, limit, id, label, ttl, expires, now_text)
    return reply, held, state
  elseif ids then
    return grant_many(tickets, meta, limit, ids, held, token, label, expires)
  end
  return grant_one(tickets, meta, limit, id, held, token, label, expires)
end

local function make_slow(inbox, now_text, now)
  -- include: slow slots serve close requests
  return acquire
end

-- With '*': 'token held' of each semaphore, without the space, '' where it was never used; or the number of the first that is not plainly free.
local function look_at_all(now_text, now)
  local found, at = {}, 2
  while ARGV[at] do
    local limit, ttl = ARGV[at], ARGV[at + 1] + 0
    at = at + 4
    while (ARGV[at] or '') ~= '' do
      local key = 3 * #found + 1
      local token, held, state = next_token(KEYS[key], KEYS[key + 1], limit, 1, ttl, now_text, now)
      if not token and (state or held >= 0 or redis.call('EXISTS', KEYS[key + 1], KEYS[key + 2]) > 0) then
        return nil, string.format('%d', #found + 1)
      end
      found[#found + 1], at = token and string.format('%s%d', token, held) or '', at + 1
    end
    at = at + 1
  end
  return found
end

local now_text, now = server_time()
local slow, known, busy
local replies, total, at = {}, 0, 2
if string.byte(ARGV[1]) == 42 then
  known, busy = look_at_all(now_text, now)
  if busy then
    return now_text .. '|' .. busy
  end
end
while ARGV[at] do
  local limit, ttl, label, not_after = ARGV[at], ARGV[at + 1] + 0, ARGV[at + 2], ARGV[at + 3]
  local late, expires = not_after ~= '' and now > not_after + 0, string.format('%d', now + ttl)
  at = at + 4
  while (ARGV[at] or '') ~= '' do
    local key, text, reply, held, state = 3 * total + 1, ARGV[at], nil, nil, nil
    local tickets, meta, queue = KEYS[key], KEYS[key + 1], KEYS[key + 2]
    total, at = total + 1, at + 1
    if not late then
      reply, held, state = grant_plain(tickets, meta, queue, limit, text, ttl, label, expires, now_text, now, known and known[total])
    end
    if not reply then
      slow = slow or make_slow(ARGV[1], now_text, now)
      reply = slow(tickets, meta, queue, limit, held, state, text, late, ttl, label, expires)
    end
    replies[total] = reply
  end
  at = at + 1
end
return now_text .. '|' .. (total == 1 and replies[1] or table.concat(replies, '|'))
