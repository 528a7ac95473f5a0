-- Gives tickets back and withdraws queued requests, by id, of any number of semaphores; what is not there is left alone.
--
-- KEYS  tickets, meta, queue of each semaphore
-- ARGV  1 the caller's inbox channel, which ends in ':' and its name
--       then runs of semaphores with '' between: limit (0: not known), and for each semaphore its id, or a JSON list of ids, each once
-- Reply 'now|semaphore|…', a semaphore being 'verdicts', or 'verdicts/limit/grants/': see slow.lua. A verdict is 1 for a live ticket, else 0
-- Cost  O(log n) for each id, expired ticket and grant

-- include: time
-- The usual case: the ticket has the highest slot, nobody waits, nothing has expired. Nil where it does not apply; and what was read.
local function release_one(tickets, meta, limit, id, now_text)
  local call = redis.call
  local held, state, record = call('ZCARD', tickets) - 1, nil, nil
  if limit == '1' then
    state = call('HGET', meta, 'state')
  else
    local found = call('HMGET', meta, 'state', id)
    state, record = found[1], found[2]
  end
  if held < 1 or not state or string.sub(state, 18) ~= limit or call('ZCOUNT', tickets, '0', now_text) > 0 then
    return nil, held, state
  end
  local slot = held > 1 and string.match(record or '', '^%d+ ')
  if held > 1 and (not slot or slot + 1 ~= held) then
    return nil, held, state
  end
  -- Where the ticket or its record is missing, slow.lua counts again.
  if call('ZREM', tickets, id) == 0 or call('HDEL', meta, id) == 0 then
    return nil
  end
  return '1'
end

local function make_usual(inbox, now_text)
  local now = now_text + 0
  -- include: hand-over
  return attempt
end

local function make_slow(inbox, now_text)
  local now = now_text + 0
  -- include: slow slots serve close
  local function release(tickets, meta, queue, limit, held, state, text)
    local s, ids = open(tickets, meta, queue, limit, held, state), string.byte(text) == 91 and cjson.decode(text) or { text }
    local gone, dropped = drop(s, ids, ids[1] and redis.call('HMGET', meta, unpack(ids)) or {})
    if dropped < #ids and lacks_record(s, ids, gone) then
      recount(s)
    end
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
    if dropped == #ids then
      return close(s, string.rep('1', dropped))
    end
    local verdicts = {}
    for i = 1, #ids do
      verdicts[i] = gone[ids[i]] and '1' or '0'
    end
    return close(s, table.concat(verdicts))
  end
  return release
end

local keys, args, now_text = KEYS, ARGV, server_time()
local usual, slow
local replies, total, at = keys[4] and {}, 0, 2
while args[at] do
  local limit, text = args[at], args[at + 1]
  at = at + 2
  repeat
    local key, one, reply, held, state = 3 * total + 1, string.byte(text) ~= 91, nil, nil, nil
    local tickets, meta, queue = keys[key], keys[key + 1], keys[key + 2]
    total = total + 1
    if one then
      reply, held, state = release_one(tickets, meta, limit, text, now_text)
    end
    if not reply and (state or not one) then
      usual = usual or make_usual(args[1], now_text)
      reply, held, state = usual(tickets, meta, queue, limit, text, held, state)
    end
    if not reply then
      slow = slow or make_slow(args[1], now_text)
      reply = slow(tickets, meta, queue, limit, held, state, text)
    end
    if not replies then
      return now_text .. '|' .. reply
    end
    replies[total], text, at = reply, args[at] or '', at + 1
  until text == ''
end
return now_text .. '|' .. table.concat(replies, '|')
