-- Gives tickets back and withdraws queued requests, by id, of any number of semaphores; what is not there is left alone.
--
-- KEYS  tickets, meta, queue of each semaphore
-- ARGV  1 the caller's inbox channel, which ends in ':' and its name
--       then runs of semaphores with '' between: limit (0: not known), and for each semaphore its id, or ' ids' with spaces between, each once
-- Reply 'now|semaphore|…', a semaphore being 'verdicts', or 'verdicts/limit/grants/': see slow.lua. A verdict is 1 for a live ticket, else 0
-- Cost  O(log n) for each id, expired ticket and grant

-- include: time ids
-- Whether the tickets have the highest slots.
local function are_highest(records, held)
  local total = #records
  for i = 1, total do
    local slot = tonumber(string.match(records[i] or '', '^%d+ '))
    if not slot or slot < held - total or slot >= held then
      return false
    end
  end
  return true
end

-- The usual case: the tickets have the highest slots, nobody waits, nothing has expired. Nil where it does not apply; and what was read.
local function release_plain(tickets, meta, limit, ids, now_text)
  local state, held, total = redis.call('HGET', meta, 'state'), redis.call('ZCARD', tickets) - 1, #ids
  if not state or string.sub(state, 18) ~= limit or total > held then
    return nil, held, state
  elseif total < held and not are_highest(redis.call('HMGET', meta, unpack(ids)), held) then
    return nil, held, state
  elseif redis.call('ZCOUNT', tickets, '0', now_text) > 0 then
    return nil, held, state
  end
  -- Where a ticket or its record is missing, slow.lua counts again.
  if redis.call('ZREM', tickets, unpack(ids)) < total or redis.call('HDEL', meta, unpack(ids)) < total then
    return nil
  end
  return total == 1 and '1' or string.rep('1', total)
end

local function make_slow(inbox, now_text, now)
  -- include: slow slots serve close
  return function(tickets, meta, queue, limit, others, state, ids)
    local s = open(tickets, meta, queue, limit, others, state)
    local gone, dropped = drop(s, ids, records_of(s, ids))
    if dropped == 0 then
      -- Whether a script may run at maxmemory is decided by its first write: this one takes no memory.
      redis.call('HDEL', meta, '')
    end
    if s.waiting > 0 and dropped < #ids then
      local withdrawn = redis.call('ZREM', queue, unpack(ids))
      s.waited, s.waiting = true, s.waiting - withdrawn
      if withdrawn > 0 then
        redis.call('HDEL', meta, unpack(ids))
      end
    end
    serve(s)
    local verdicts = {}
    for i = 1, #ids do
      verdicts[i] = gone[ids[i]] and '1' or '0'
    end
    return close(s, table.concat(verdicts))
  end
end

local now_text, now = server_time()
local slow
local replies, total, at = {}, 0, 2
while ARGV[at] do
  local limit = ARGV[at]
  at = at + 1
  while (ARGV[at] or '') ~= '' do
    local key, text = 3 * total + 1, ARGV[at]
    local tickets, meta, queue, ids = KEYS[key], KEYS[key + 1], KEYS[key + 2], string.byte(text) == 32 and ids_in(text) or { text }
    total, at = total + 1, at + 1
    local reply, held, state = release_plain(tickets, meta, limit, ids, now_text)
    if not reply then
      slow = slow or make_slow(ARGV[1], now_text, now)
      reply = slow(tickets, meta, queue, limit, held, state, ids)
    end
    replies[total] = reply
  end
  at = at + 1
end
return now_text .. '|' .. (total == 1 and replies[1] or table.concat(replies, '|'))
