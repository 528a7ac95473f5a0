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
--       id, or a JSON list of ids, each once and of an adopted ticket always, or that and after
--       a '|' a JSON list of what each has spent of budgets, 'tokens:3120&…' or -
-- Reply see close.lua. A verdict is 1 for a live ticket, else 0
-- Cost  O(log n) for each id, expired ticket and grant

-- include: time keys
-- on demand: usual_path = release-usual
-- on demand: settle_or_slow = settle-spent
local call = redis.call
-- The usual case of a limit of 1: no request waits, and this ticket is the only one and live. Else
-- nil, and for release-usual.lua the number of tickets, of which none has expired, the state and
-- the ticket's record.
local function release_mutex(tickets, info, id, live)
  local held, found = call('ZCARD', tickets) - 1, call('HMGET', info, 'state', id)
  local state, record = found[1], found[2]
  if held ~= 1 or not state or not record then
    return nil
  elseif string.sub(state, 18) ~= '1' then
    return nil, call('ZCOUNT', tickets, live, '+inf') == 2 and held, state, record
  end
  return call('ZREMRANGEBYSCORE', tickets, live, '(NEVER') == 1 and call('HDEL', info, id) == 1 and '1' or nil
end

-- The usual case of other limits: the tickets have the highest slots, no request waits, and nothing
-- has expired.
local function release_plain(tickets, info, limit, now_text, total, ...)
  local held, records = call('ZCARD', tickets) - 1, call('HMGET', info, 'state', ...)
  local state = records[1]
  if not state or call('ZCOUNT', tickets, '0', now_text) > 0 then
    return nil
  elseif string.sub(state, 18) ~= limit or held < total or total < 1 then
    return nil, held, state, total == 1 and records[2]
  end
  for i = 2, total + 1 do
    local slot = string.match(records[i] or '', '^%d+ ')
    if not slot or slot + total < held then
      return nil, held, state, total == 1 and records[2]
    end
  end
  if call('ZREM', tickets, ...) == total and call('HDEL', info, ...) == total then
    return total == 1 and '1' or string.rep('1', total)
  end
end

local keys, args, live, usual, slow = KEYS, ARGV, nil, nil, nil
local replies, total, at = keys[3] and {}, 0, 2
while args[at] do
  local limit, text, run = args[at], args[at + 1], nil
  at = at + 2
  repeat
    local tickets, info = keys[2 * total + 1], keys[2 * total + 2]
    local ids, spent, adopted, reply, held, state, record = nil, nil, nil, nil, nil, nil, nil
    if string.byte(text) == LIST then
      adopted = string.find(text, '~', 1, true)
      local bar = string.find(text, '|', 1, true)
      ids = cjson.decode(bar and string.sub(text, 1, bar - 1) or text)
      spent = bar and cjson.decode(string.sub(text, bar + 1))
      -- An adopted ticket has two fields.
      if spent and not ids[2] and not adopted then
        text, ids = ids[1], nil
      end
    end
    if ids then
      reply = not spent and not adopted and release_plain(tickets, info, limit, now_text, #ids, unpack(ids))
    elseif limit == '1' then
      live = live or '(' .. now_text
      reply, held, state, record = release_mutex(tickets, info, text, live)
    else
      reply, held, state, record = release_plain(tickets, info, limit, now_text, 1, text)
    end
    if not reply then
      run = run or { inbox = args[1], now = now_text, limit = limit }
      if record then
        usual = usual or usual_path()
        reply = usual(tickets, info, text, run, held, state, record, spent and spent[1], settle_or_slow)
      end
    end
    if not reply then
      if not slow then
        local _, slow_path = settle_or_slow()
        slow = slow_path()
      end
      reply = slow(tickets, info, ids or { text }, run, spent)
    end
    if not replies then
      return now_text .. '|' .. reply
    end
    total = total + 1
    replies[total], text, at = reply, args[at] or '', at + 1
  until text == ''
end
return now_text .. '|' .. table.concat(replies, '|')
