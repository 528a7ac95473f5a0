-- Grants tickets of any number of semaphores, or queues requests for them.
--
-- KEYS  tickets, meta, queue of each semaphore
-- ARGV  1 the caller's inbox channel, which ends in ':' and its name; after a '*': all or none
--       then runs of semaphores with '' between: limit, ttl (microseconds), label (without spaces,
--       ; or |), not after (microseconds, or ''), and for each semaphore an id that waits, '?' and
--       an id that only tries, a JSON list of ids that wait, all of one permit, or
--       'ids|kinds|places|orders|most|rate', of which the last ones may be left out:
--       a letter for each id, w to wait, p to wait and know its position, or t to try; '' or a
--       JSON list with the place of each in the queue as an earlier reply said, or 0; '' or a JSON
--       list with 'priority weight group' of each, the group without spaces, or empty; '' or how
--       many may wait; '' or a rate
-- Reply see close.lua; with '*', where a semaphore is not free, 'now|' and its number. A
--       verdict is 'slots token', '*n slot token' for n of one permit with rising slots and tokens,
--       'q' and the place (and of p ',position,waiting,estimate', the last in microseconds or
--       empty), b busy, l late, 'o' and the limit where more permits are asked for, with
--       ; between
-- Cost  O(log n) for each request, expired ticket and grant; a second run changes nothing
-- Bytes cost less than characters: 42 is *, 63 ?, 91 [, and in requests.lua 113 q

-- include: time
local call = redis.call
-- The next token or place, how many tickets are held (-1: a new name), and how many requests wait,
-- in the usual case: nobody changed the keys by hand, tickets have one permit each on the lowest
-- slots, and none has expired. Else nil.
local function look(tickets, meta, queue, limit, ttl, now_text, period)
  local state, held, waiting = call('HGET', meta, 'state'), call('ZCARD', tickets) - 1, 0
  if ttl > 21600000000.0 then
    return nil
  elseif not state then
    return held == -1 and call('EXISTS', meta, queue) == 0 and now_text or nil, held, 0
  elseif string.sub(state, 18) ~= limit then
    local own, queued = string.match(state, '^%d+ (%d+);(%d+)$')
    if own ~= limit then
      return nil
    end
    waiting = queued + 0
  end
  if held < 0 or held > 0 and call('ZCOUNT', tickets, '0', now_text) > 0
    or held > 0 and call('HLEN', meta) ~= held + waiting + 2 then
    return nil
  end
  if state < now_text then
    -- In another period of 2.8 hours the keys' expiry is renewed.
    return state >= period and now_text or nil, held, waiting
  end
  local last = tonumber(string.sub(state, 1, 16))
  return last and string.format('%d', last + 1), held, waiting
end

-- Made where they are first needed.
local function slow_paths()
  -- include: semaphore serve close progress requests
  return acquire, is_free
end

local keys, args, inbox = KEYS, ARGV, ARGV[1]
local period, usual, slow, known = string.sub(now_text, 1, 6), nil, nil, nil
local replies, total, at = keys[4] and {}, 0, 2
if string.byte(inbox) == 42 then
  -- include: all-or-none
  local busy
  inbox = string.sub(inbox, 2)
  known, busy = look_at_all(keys, args, inbox, now_text, period, slow_paths)
  if busy then
    return now_text .. '|' .. busy
  end
end
while args[at] do
  local limit, life, label, not_after = args[at], args[at + 1], args[at + 2], args[at + 3]
  local ttl, late, expires = life + 0, not_after ~= '' and now_text > not_after, nil
  local text, run, ticket, record, mark, for_token, for_held = args[at + 4], nil, nil, nil, nil, nil, nil
  at = at + 5
  repeat
    local key, first, reply, token, held, waiting = 3 * total + 1, string.byte(text), nil, now_text, 0, 0
    local tickets, meta, queue = keys[key], keys[key + 1], keys[key + 2]
    total = total + 1
    if late then
      token = nil
    elseif not known then
      token, held, waiting = look(tickets, meta, queue, limit, ttl, now_text, period)
    elseif known[2 * total] then
      token, held = known[2 * total - 1], known[2 * total]
    end
    if token and first ~= 91 and waiting == 0 and (held < 1 or held < limit + 0) then
      if token ~= for_token or held ~= for_held then
        ticket, for_token, for_held = (held < 1 and '0 ' or string.format('%d ', held)) .. token, token, held
        record, mark = ticket .. ' ' .. label, token .. ' ' .. limit
      end
      local id = first == 63 and string.sub(text, 2) or text
      expires = expires or string.format('%d', now_text + ttl)
      -- Where the id is known already, the slow path sees to it.
      if call('ZADD', tickets, expires, id) == 1 then
        call('HSET', meta, id, record, 'state', mark)
        reply = ticket
        if held < 0 then
          -- include: begin
          begin(tickets, meta, ttl)
        end
      end
      token = nil
    end
    if not reply then
      run = run or { inbox = inbox, now = now_text, limit = limit, ttl = ttl, life = life, label = label }
      run.late = late
      if token then
        if not usual then
          -- include: usual
          usual = attempt
        end
        reply = usual(tickets, meta, queue, text, run, token, held, waiting)
      end
    end
    if not reply then
      slow = slow or slow_paths()
      reply = slow(tickets, meta, queue, text, run)
    end
    if not replies then
      return now_text .. '|' .. reply
    end
    replies[total], text, at = reply, args[at] or '', at + 1
  until text == ''
end
return now_text .. '|' .. table.concat(replies, '|')
