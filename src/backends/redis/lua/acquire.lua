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
-- state, such as ' queue' or ' top:7', or ''. Nil if a ticket has expired or a key is lost.
local function read_usual(tickets, info, limit, now_text, period)
  local state, held = call('HGET', info, 'state'), call('ZCARD', tickets) - 1
  if not state then
    local base = string.sub(tickets, 1, -8)
    return held == -1 and call('EXISTS', info, base .. 'requests', base .. 'slots') == 0 and now_text or nil, held, ''
  end
  local rest = string.sub(state, 18)
  local more = rest == limit and '' or string.find(rest, limit .. ' ', 1, true) == 1 and string.sub(rest, #limit + 1)
  if not more or held < 0 or held > 0 and call('ZCOUNT', tickets, '0', now_text) > 0 then
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
  local ttl, late, expires, run = life + 0, not looks and not_after ~= '' and now_text > not_after, nil, nil
  local text = args[at + 4]
  at = at + 5
  repeat
    local key, first, reply, token, held, more = 2 * total + 1, not known and string.byte(text), nil, nil, 0, ''
    local tickets, info = keys[key], keys[key + 1]
    total = total + 1
    if known and not looks and not late then
      token, held = known[key], known[key + 1]
    elseif not late and ttl <= LONG_TTL_US then
      token, held, more = read_usual(tickets, info, limit, now_text, period)
    end
    local is_free = token and more == '' and (held < 1 or held < limit + 0)
    if looks then
      known[key], known[key + 1], reply, token = is_free and token, held, is_free and '', nil
    elseif is_free and first ~= LIST and first ~= ORDERED and held >= 0 then
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
    end
    if not reply then
      -- An expired ticket may hold the permit, a dead client may wait for it, or this call runs
      -- twice.
      run = run or { inbox = inbox, now = now_text, limit = limit, ttl = ttl, life = life, label = label, late = late, looks = looks }
      other = other or other_paths()
      reply = other(tickets, info, known and '?' .. text or text, run, token, held, more)
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
