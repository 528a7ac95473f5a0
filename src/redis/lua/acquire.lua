-- Grants tickets, or queues their requests, of any number of semaphores.
--
-- KEYS  tickets, meta, queue of each semaphore
-- ARGV  1 what all inbox channels begin with   2 the caller's name   3 'all': grant all if each is plainly free, else nothing; or ''
--       then runs of semaphores: limit, ttl (microseconds), label (without spaces, ; or |), not after (microseconds, or ''), how many
--       semaphores, and for each one its requests: 'ids', or 'ids|kinds|arrivals' with a letter for each id, w to wait or t to try
--       only (nothing: all wait), and a number for each, its place in the queue as an earlier reply said, or 0 (nothing: all 0)
-- Reply 'now|semaphore|…', a semaphore being 'verdicts', or 'verdicts/limit/grants/nearest': see slow.lua. A verdict is 'slots token', 'q' and the
--       place, 'b' when busy, 'l' when late, 'o' and the limit where more permits are asked for, with ; between. With 'all', where
--       one is not plainly free: 'now|' and its number, from 1
-- Cost  O(log n) for each request, expired ticket and grant; a call that runs twice changes nothing the second time

-- include: time ids
-- What a semaphore holds where the usual case applies: a free permit for each of so many requests, nobody waits, no slot is free
-- below those in use, and nobody changed the keys by hand. Writes nothing.
local function held_if_plain(tickets, meta, limit, wanted, now_text)
  local state = redis.call('HGET', meta, 'state')
  local held = redis.call('ZCARD', tickets) - 1
  if not state or held < 0 or string.sub(state, 18) ~= limit or held + wanted > limit + 0 then
    return nil
  end
  if held > 0 and (redis.call('ZCOUNT', tickets, '0', now_text) > 0 or redis.call('HLEN', meta) ~= held + 2) then
    return nil
  end
  local last = string.sub(state, 1, 16)
  local token = last < now_text and now_text or string.format('%d', last + 1)
  -- Another period of 2.8 hours: the keys' expiry is to be renewed.
  if string.sub(last, 1, 6) ~= string.sub(token, 1, 6) then
    return nil
  end
  return held, token
end

-- One request. Nil where its id is known already.
local function grant_one(tickets, meta, id, held, token, limit, ttl, label, now_text)
  if redis.call('ZADD', tickets, string.format('%d', now_text + ttl), id) == 0 then
    return nil
  end
  local ticket = string.format('%d ', held) .. token
  redis.call('HSET', meta, id, ticket .. ' ' .. label, 'state', token .. ' ' .. limit)
  return ticket
end

local function grant_many(tickets, meta, ids, held, token, limit, ttl, label, now_text)
  local total, expiry = #ids, string.format('%d', now_text + ttl)
  local adds, fields, verdicts = {}, {}, {}
  -- Tokens are written as a common start and six digits, as printing a whole one takes as long as a Redis call.
  local start, digits = string.sub(token, 1, 10), string.sub(token, 11) + 0
  if digits + total > 1000000 then
    return nil
  end
  for i = 1, total do
    local ticket = string.format('%d %s%06d', held + i - 1, start, digits + i - 1)
    adds[2 * i - 1], adds[2 * i] = expiry, ids[i]
    fields[2 * i - 1], fields[2 * i] = ids[i], ticket .. ' ' .. label
    verdicts[i] = ticket
  end
  local added = redis.call('ZADD', tickets, unpack(adds))
  if added < total then
    return nil, added > 0
  end
  fields[2 * total + 1], fields[2 * total + 2] = 'state', string.sub(verdicts[total], -16) .. ' ' .. limit
  redis.call('HSET', meta, unpack(fields))
  return table.concat(verdicts, ';')
end

-- Nil where the usual case does not apply; then nothing was written that slow.lua does not set right.
local function grant_plain(tickets, meta, limit, requests, ttl, label, now_text)
  local bar, many = string.find(requests, '|', 1, true), string.find(requests, ' ', 1, true)
  local ids = many and not bar and ids_in(requests)
  if bar and string.sub(requests, bar) ~= '|t' then
    return nil
  end
  local held, token = held_if_plain(tickets, meta, limit, ids and #ids or 1, now_text)
  if not held then
    return nil
  elseif ids then
    return grant_many(tickets, meta, ids, held, token, limit, ttl, label, now_text)
  end
  local id = bar and string.sub(requests, 1, bar - 1) or requests
  return grant_one(tickets, meta, id, held, token, limit, ttl, label, now_text)
end

local function make_slow(now_text, channels, client)
  -- include: slow slots serve requests
  return S
end

-- For 'all': the number of the first semaphore that is not plainly free. A name without keys is.
local function first_busy(now_text)
  local key, at = 1, 4
  while ARGV[at] do
    local limit, last = ARGV[at], at + 4 + ARGV[at + 4]
    for i = at + 5, last do
      local tickets, meta = KEYS[key], KEYS[key + 1]
      if not held_if_plain(tickets, meta, limit, 1, now_text) and redis.call('EXISTS', tickets, meta) > 0 then
        return string.format('%d', (key + 2) / 3)
      end
      key = key + 3
    end
    at = last + 1
  end
end

local now_text, problem = server_time()
if problem then
  return redis.error_reply(problem)
end
local busy = ARGV[3] == 'all' and first_busy(now_text)
if busy then
  return now_text .. '|' .. busy
end
local slow
local replies, key, at = { now_text }, 1, 4
while ARGV[at] do
  local limit, ttl, label, not_after = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local late, last = not_after ~= '' and now_text > not_after, at + 4 + ARGV[at + 4]
  for i = at + 5, last do
    local tickets, meta, queue = KEYS[key], KEYS[key + 1], KEYS[key + 2]
    local reply = not late and grant_plain(tickets, meta, limit, ARGV[i], ttl, label, now_text)
    if not reply then
      slow = slow or make_slow(now_text, ARGV[1], ARGV[2])
      reply = slow:open(tickets, meta, queue, limit):acquire(ARGV[i], late, ttl, label)
    end
    replies[#replies + 1] = reply
    key = key + 3
  end
  at = last + 1
end
return table.concat(replies, '|')
