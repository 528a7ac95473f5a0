-- Grants tickets, or queues their requests, of any number of semaphores.
--
-- KEYS  tickets, meta, queue of each semaphore
-- ARGV  1 the caller's inbox channel, which ends in ':' and its name; after a '*': grant all if each is plainly free, else nothing
--       then runs of semaphores with '' between: limit, ttl (microseconds), label (without spaces, ; or |), not after (microseconds, or ''),
--       and for each semaphore its requests: the id of one that waits, '?' and the id of one that only tries, or a JSON list of ids that
--       wait, all of one permit; or 'ids|kinds|places' with a letter for each id, w to wait or t to try only, and a JSON list with
--       the place of each in the queue as an earlier reply said, or 0 (empty: all 0)
-- Reply 'now|semaphore|…', a semaphore being 'verdicts', or 'verdicts/limit/grants/nearest': see slow.lua. A verdict is 'slots token', '*n slot token'
--       for n of one permit with rising slots and tokens, 'q' and the place, 'b' when busy, 'l' when late, 'o' and the limit where more
--       permits are asked for, with ; between. With '*', where one is not plainly free: 'now|' and its number, from 1
-- Cost  O(log n) for each request, expired ticket and grant; a call that runs twice changes nothing the second time

-- include: time
-- The next token or place where the usual case applies: nobody changed the keys by hand, all permits that are held are of one each on the
-- lowest slots, and nothing has expired. Else nil. And what was read. Writes nothing.
local function look(tickets, meta, limit, ttl, now_text, period)
  local call = redis.call
  local state, held, waiting = call('HGET', meta, 'state'), call('ZCARD', tickets) - 1, 0
  if not state or held < 0 or ttl > 43200000000.0 then
    return nil, held, state
  elseif string.sub(state, 18) ~= limit then
    local own, queued = string.match(state, '^%d+ (%d+);(%d+)$')
    if own ~= limit then
      return nil, held, state
    end
    waiting = queued + 0
  end
  if held > 0 and (call('ZCOUNT', tickets, '0', now_text) > 0 or call('HLEN', meta) ~= held + waiting + 2) then
    return nil, held, state
  end
  -- In another period of 2.8 hours the keys' expiry is to be renewed.
  local last = state > now_text and tonumber(string.sub(state, 1, 16)) or 0
  if state < period or state > now_text and last == 0 then
    return nil, held, state
  end
  return last == 0 and now_text or string.format('%d', last + 1), held, state, waiting
end

local function make_usual(inbox, now_text)
  local now = now_text + 0
  -- include: usual
  return attempt
end

local function make_slow(inbox, now_text)
  local now = now_text + 0
  -- include: slow slots serve close requests
  return acquire
end

local keys, args, call, now_text = KEYS, ARGV, redis.call, server_time()
local period, usual, slow, known = string.sub(now_text, 1, 6), nil, nil, nil
local replies, total, at = keys[4] and {}, 0, 2
if string.byte(args[1]) == 42 then
  -- include: all-or-none
  local busy
  known, busy = look_at_all(keys, args, now_text, period)
  if busy then
    return now_text .. '|' .. busy
  end
end
while args[at] do
  local limit, ttl, label, not_after = args[at], args[at + 1] + 0, args[at + 2], args[at + 3]
  local late, expires = not_after ~= '' and now_text > not_after, string.format('%d', now_text + ttl)
  local ticket, record, mark, for_token, for_held
  local text = args[at + 4]
  at = at + 5
  repeat
    local key, first, reply, token, held, state, waiting = 3 * total + 1, string.byte(text), nil, now_text, 0, nil, 0
    local tickets, meta, queue = keys[key], keys[key + 1], keys[key + 2]
    total = total + 1
    if late then
      token, held = nil, nil
    elseif not known then
      token, held, state, waiting = look(tickets, meta, limit, ttl, now_text, period)
    elseif known[2 * total] then
      token, held = known[2 * total - 1], known[2 * total]
    end
    if token and first ~= 91 and waiting == 0 and (held == 0 or held < limit + 0) then
      if token ~= for_token or held ~= for_held then
        ticket, for_token, for_held = (held == 0 and '0 ' or string.format('%d ', held)) .. token, token, held
        record, mark = ticket .. ' ' .. label, token .. ' ' .. limit
      end
      local id = first == 63 and string.sub(text, 2) or text
      -- Where the id is known already, slow.lua sees to it.
      held = nil
      if call('ZADD', tickets, expires, id) == 1 then
        call('HSET', meta, id, record, 'state', mark)
        reply = ticket
      end
    elseif held and (token or held < 0) then
      usual = usual or make_usual(args[1], now_text)
      reply, held, state = usual(tickets, meta, queue, limit, text, ttl, label, expires, token, held, state, waiting)
    end
    if not reply then
      slow = slow or make_slow(args[1], now_text)
      reply = slow(tickets, meta, queue, limit, held, state, text, late, ttl, label)
    end
    if not replies then
      return now_text .. '|' .. reply
    end
    replies[total], text, at = reply, args[at] or '', at + 1
  until text == ''
end
return now_text .. '|' .. table.concat(replies, '|')
