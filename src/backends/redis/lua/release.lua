-- Gives tickets back and withdraws queued requests, by id, of any number of semaphores.
--
-- KEYS  tickets, meta, queue of each semaphore
-- ARGV  1 the caller's inbox channel, which ends in ':' and its name
--       then runs of semaphores with '' between: limit (0: not known), and for each semaphore its
--       id, or a JSON list of ids, each once
-- Reply see close.lua. A verdict is 1 for a live ticket, else 0
-- Cost  O(log n) for each id, expired ticket and grant

-- include: time
local call = redis.call
-- The usual case of a limit of 1: nobody waits, and one count finds a live ticket. Else nil, and
-- for hand-over.lua how many are held, none of which has expired, and the state.
local function release_mutex(tickets, meta, id, live)
  local held, state = call('ZCOUNT', tickets, live, '+inf') - 1, call('HGET', meta, 'state')
  if held ~= 1 or not state or #state ~= 18 or string.byte(state, 18) ~= 49 then
    return nil, held, state
  end
  -- Where a ticket or its record is missing, the slow path counts again.
  return call('ZREM', tickets, id) == 1 and call('HDEL', meta, id) == 1 and '1' or nil
end

-- The usual case of other limits: they have the highest slots, nobody waits, nothing has expired.
local function release_plain(tickets, meta, limit, now_text, total, ...)
  local held, records = call('ZCARD', tickets) - 1, call('HMGET', meta, 'state', ...)
  local state = records[1]
  if not state or call('ZCOUNT', tickets, '0', now_text) > 0 then
    return nil
  elseif string.sub(state, 18) ~= limit or held < total or total < 1 then
    return nil, held, state
  end
  for i = 2, total + 1 do
    local slot = string.match(records[i] or '', '^%d+ ')
    if not slot or slot + total < held then
      return nil
    end
  end
  if call('ZREM', tickets, ...) == total and call('HDEL', meta, ...) == total then
    return total == 1 and '1' or string.rep('1', total)
  end
end

local keys, args = KEYS, ARGV
local live, usual, slow
local replies, total, at = keys[4] and {}, 0, 2
while args[at] do
  local limit, text, run = args[at], args[at + 1], nil
  at = at + 2
  repeat
    local key, ids, reply, held, state = 3 * total + 1, nil, nil, nil, nil
    local tickets, meta, queue = keys[key], keys[key + 1], keys[key + 2]
    total = total + 1
    if string.byte(text) == 91 then
      ids = cjson.decode(text)
      reply = release_plain(tickets, meta, limit, now_text, #ids, unpack(ids))
    elseif limit == '1' then
      live = live or '(' .. now_text
      reply, held, state = release_mutex(tickets, meta, text, live)
    else
      reply, held, state = release_plain(tickets, meta, limit, now_text, 1, text)
    end
    if not reply then
      run = run or { inbox = args[1], now = now_text, limit = limit }
      if state then
        if not usual then
          -- include: hand-over
          usual = hand_over
        end
        reply = usual(tickets, meta, queue, text, run, held, state)
      end
    end
    if not reply then
      if not slow then
        -- include: semaphore serve close give-back
        slow = give_back
      end
      reply = slow(tickets, meta, queue, ids or { text }, run)
    end
    if not replies then
      return now_text .. '|' .. reply
    end
    replies[total], text, at = reply, args[at] or '', at + 1
  until text == ''
end
return now_text .. '|' .. table.concat(replies, '|')
