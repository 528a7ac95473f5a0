-- Grants tickets of any number of semaphores, or queues requests for them.
--
-- 1. In the usual case no ticket has expired, permits are left and the state has nothing but a
--    token and a limit: the next free slots are the next numbers, and the ticket and its token are
--    written.
-- 2. A ticket takes the lowest free slot. If no permit is left, a request that waits joins the
--    queue of requests without options. A rate and budgets are charged besides, and with a cap
--    the permit counts for its group.
-- 3. Every other case takes the slow path: open a semaphore, drop expired tickets, bring back
--    requests that were dropped, serve the queue, answer newcomers, close.
-- 4. With '*' permits are granted only if each semaphore has a free permit once its queue is
--    served: each text is an id then, which only tries.
-- 5. Ids decide whether a request is new: a call that runs twice says the same again.
--
-- KEYS  tickets, info of each semaphore, see semaphore.lua
-- ARGV  1 the caller's inbox channel, which ends in ':' and its name; behind a '*': all or none
--       then runs of semaphores with '' between: limit, ttl (microseconds), label (without spaces,
--       ; or |), not after (microseconds, or ''), and for each semaphore an id that waits, '?' and
--       an id that only tries, a JSON list of ids that wait, all of one permit, or
--       'requests|most|rules': '@' and a request, or a JSON list of requests; '' or how many may
--       wait; '' or 'cap;name,terms;…', the rules that the caller names, see gcra.lua and caps.lua.
--       A request is 'id arrival priority weight group costs': the arrival is '' or as an earlier
--       reply said; a request without options ends before these. '?' before the id: it only tries;
--       '+': it waits and asks for its position
-- Reply see close.lua; with '*', where a semaphore is not free, 'now|' and its number. A
--       verdict is 'slots token', '*n slot token' for n of one permit with rising slots and tokens,
--       'q' and its arrival (and of '+' ',position,waiting'), b busy, 'f' and how many wait where
--       too many do, 'o' and the limit where more permits are asked for, with ; between; or l for
--       all where the call is late
-- Cost  O(log n) for each request, expired ticket and grant; a second run changes nothing

-- include: time
-- on demand: other_paths = acquire-usual
local call = redis.call
-- The next token or arrival, the number of tickets (-1: a new name), and the other words of the
-- state, such as ' queue' or ' top:7'. Nil if a ticket has expired or a key is lost.
local function read_usual(tickets, info, limit, now_text, period)
  local state, held, more = call('HGET', info, 'state'), call('ZCARD', tickets) - 1, nil
  if not state then
    local base = string.sub(tickets, 1, -8)
    return held == -1 and call('EXISTS', info, base .. 'requests', base .. 'slots') == 0 and now_text or nil, held
  end
  local rest = string.sub(state, 18)
  more = rest ~= limit and string.sub(rest, #limit + 1) or nil
  local is_other = more and string.sub(rest, 1, #limit + 1) ~= limit .. ' '
  if is_other or held < 0 or held > 0 and call('ZCOUNT', tickets, '0', now_text) > 0 then
    return nil
  end
  if state < now_text then
    -- In another period of 2.8 hours the keys' expiry is renewed.
    return state >= period and now_text or nil, held, more
  end
  return string.format('%d', string.sub(state, 1, 16) + 1), held, more
end

local keys, args, inbox, at = KEYS, ARGV, ARGV[1], 2
local period, total = string.sub(now_text, 1, 6), 0
local looks, known, other = inbox == TOGETHER, nil, nil
local replies = (keys[3] or looks) and {}
if looks then
  inbox, at, known = args[2], 3, {}
end
while args[at] do
  local limit, life, label, not_after = args[at], args[at + 1], args[at + 2], args[at + 3]
  local ttl, late, expires = life + 0, not looks and not_after ~= '' and now_text > not_after, nil
  local text = args[at + 4]
  at = at + 5
  repeat
    local key, first, reply, token, held, more = 2 * total + 1, not known and string.byte(text), nil, now_text, 0, nil
    local tickets, info = keys[key], keys[key + 1]
    total = total + 1
    if late or ttl > LONG_TTL_US then
      token = nil
    elseif looks or not known then
      token, held, more = read_usual(tickets, info, limit, now_text, period)
    elseif known[2 * total] then
      token, held = known[2 * total - 1], known[2 * total]
    end
    local is_free = token and not more and (held < 1 or held < limit + 0)
    if looks and not (is_free and held == 0 and token == now_text) then
      -- Nothing is kept of a semaphore without a ticket whose next token is now.
      known[2 * total - 1], known[2 * total] = is_free and token, held or 0
    elseif not looks and is_free and first ~= LIST and first ~= ORDERED and held >= 0 then
      -- Bytes cost less than a number.
      local slot = held == 0 and '0 ' or held < 10 and string.char(held + 48, SPACE) or string.format('%d ', held)
      local ticket = slot .. token
      local id = first == TRY and string.sub(text, 2) or text
      expires = expires or string.format('%d', now_text + ttl)
      -- A known id takes the slow path.
      if call('ZADD', tickets, expires, id) == 1 then
        call('HSET', info, id, ticket .. ' ' .. label, 'state', token .. ' ' .. limit)
        reply = ticket
      end
      token = nil
    end
    if looks and is_free then
      reply = ''
    elseif not reply then
      -- An expired ticket may hold the permit, a dead client may wait for it, or this call runs
      -- twice.
      other = other or other_paths()
      local asked, its_token = known and '?' .. text or text, not looks and token or nil
      reply = other(tickets, info, asked, its_token, held, more, limit, life, label, late, inbox, looks)
      if not reply then
        return now_text .. '|' .. string.format('%d', total)
      end
    end
    if not replies then
      return now_text .. '|' .. reply
    end
    replies[total], text, at = reply, args[at] or '', at + 1
  until text == ''
  if looks and not args[at] then
    looks, total, at = false, 0, 3
  end
end
return now_text .. '|' .. table.concat(replies, '|')
