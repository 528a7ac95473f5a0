-- Gives tickets back and withdraws queued requests, by id, of any number of semaphores; what is not there is left alone.
--
-- KEYS  tickets, meta, queue of each semaphore
-- ARGV  1 what all inbox channels begin with   2 the caller's name
--       then runs of semaphores: limit (0: not known), how many, and for each one its ids, with spaces between, each once
-- Reply 'now|semaphore|…', a semaphore being 'verdicts', or 'verdicts/limit/grants/': see slow.lua. A verdict is 1 for a live ticket, else 0
-- Cost  O(log n) for each id, expired ticket and grant

-- include: time ids
-- The usual case: the tickets have the highest slots, nobody waits, nothing has expired. Nil where it does not apply.
local function release_plain(tickets, meta, limit, ids, now_text)
  local total, found = #ids, redis.call('HMGET', meta, 'state', unpack(ids))
  if not found[1] or string.sub(found[1], 18) ~= limit then
    return nil
  end
  local held = redis.call('ZCARD', tickets) - 1
  for i = 2, total + 1 do
    local slot = tonumber(string.match(found[i] or '', '^(%d+) '))
    if not slot or slot < held - total or slot >= held or string.find(ids[i - 1], '~', 1, true) then
      return nil
    end
  end
  -- Where a ticket is missing, slow.lua counts again.
  if redis.call('ZCOUNT', tickets, '0', now_text) > 0 or redis.call('ZREM', tickets, unpack(ids)) < total then
    return nil
  end
  redis.call('HDEL', meta, unpack(ids))
  return string.rep('1', total)
end

local function make_slow(now_text, channels, client)
  -- include: slow slots serve
  function S.release(s, ids)
    -- Whether a script may run at maxmemory is decided by its first write: this one takes no memory.
    redis.call('HDEL', s.meta, '')
    local gone, dropped = s:drop(ids, s:records(ids))
    if s.waiting > 0 and dropped < #ids then
      s.waited = true
      local withdrawn = redis.call('ZREM', s.queue, unpack(ids))
      s.waiting = s.waiting - withdrawn
      if withdrawn > 0 then
        redis.call('HDEL', s.meta, unpack(ids))
      end
    end
    s:serve()
    local verdicts = {}
    for i = 1, #ids do
      verdicts[i] = gone[ids[i]] and '1' or '0'
    end
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
  local limit, last = ARGV[at], at + 1 + ARGV[at + 1]
  for i = at + 2, last do
    local tickets, meta, queue, ids = KEYS[key], KEYS[key + 1], KEYS[key + 2], ids_in(ARGV[i])
    local reply = release_plain(tickets, meta, limit, ids, now_text)
    if not reply then
      slow = slow or make_slow(now_text, ARGV[1], ARGV[2])
      reply = slow:open(tickets, meta, queue, limit):release(ids)
    end
    replies[#replies + 1] = reply
    key = key + 3
  end
  at = last + 1
end
return table.concat(replies, '|')
