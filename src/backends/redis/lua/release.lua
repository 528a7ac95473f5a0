-- Gives tickets back and withdraws queued requests, by id, of any number of semaphores.
--
-- 1. If no request waits, no ticket has expired and the tickets have the highest slots, they go and
--    nothing else is written.
-- 2. A ticket with a lower slot leaves it to the next. If requests wait at a semaphore without
--    policy, the head gets the ticket's slot, a new token and a message.
-- 3. Every other case takes the slow path: open a semaphore, drop expired and released tickets,
--    serve the queue, close.
-- 4. An id that is no ticket is a request to withdraw, or nothing.
-- 5. A call that runs twice finds nothing the second time.
--
-- KEYS  tickets, info of each semaphore, see semaphore.lua
-- ARGV  1 the caller's inbox channel, which ends in ':' and its name
--       then runs of semaphores with '' between: limit (0: not known), and for each semaphore its
--       id, or '@' and the id, a '|' and what it has spent of budgets, 'tokens:3120&…'; or a JSON
--       list of ids, each once and of an adopted ticket always, or that, a '|' and a JSON list of
--       what each has spent, or -
-- Reply see close.lua. A verdict is 1 for a live ticket, else 0
-- Cost  O(log n) for each id, expired ticket and grant

-- include: time
-- on demand: other_paths = release-usual
local call = redis.call
-- The usual case of one ticket. Else nil, and if the ticket is live and none has expired, the
-- number of tickets, the state and the ticket's record.
local function release_one(tickets, info, id, limit)
  local held = call('ZCARD', tickets) - 1
  if limit == '1' and held == 1 and string.sub(call('HGET', info, 'state') or '', 18) == '1' and call('HDEL', info, id) == 1 then
    -- It is the only ticket. If it has expired, it goes as well.
    local lived = call('ZREMRANGEBYSCORE', tickets, '(' .. now_text, '(NEVER') == 1
    return lived and '1' or call('ZREM', tickets, id) and '0'
  end
  local found = call('HMGET', info, 'state', id)
  local state, record = found[1], found[2]
  if not state or not record or call('ZCOUNT', tickets, '0', now_text) > 0 then
    return nil
  end
  -- Bytes cost less than a pattern.
  local digit, next_byte = string.byte(record, 1, 2)
  local slot = next_byte == SPACE and digit - 48 or string.match(record, '^%d+ ') or -1
  if slot + 1 == held and string.sub(state, 18) == limit and call('ZREM', tickets, id) == 1 then
    call('HDEL', info, id)
    return '1'
  end
  return nil, held, state, record
end

local keys, args, other = KEYS, ARGV, nil
local replies, total, at = keys[3] and {}, 0, 2
while args[at] do
  local limit, text = args[at], args[at + 1]
  at = at + 2
  repeat
    local tickets, info = keys[2 * total + 1], keys[2 * total + 2]
    local first, id, spent, reply, held, state, record = string.byte(text), text, nil, nil, nil, nil, nil
    if first == ORDERED then
      id, spent = string.match(text, '^@(.-)|(.*)$')
    end
    if first ~= LIST then
      reply, held, state, record = release_one(tickets, info, id, limit)
    end
    if not reply then
      other = other or other_paths()
      reply = other(tickets, info, id, limit, spent, held, state, record)
    end
    if not replies then
      return now_text .. '|' .. reply
    end
    total = total + 1
    replies[total], text, at = reply, args[at] or '', at + 1
  until text == ''
end
return now_text .. '|' .. table.concat(replies, '|')
