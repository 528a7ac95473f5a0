-- Fragment of the slow paths: one semaphore, from what the last call knew to what the next one
-- must.
--
-- `tickets`, a sorted set: a ticket's id -> its expiry (microseconds); '.' -> 9e15, so that the key
-- stays; ranges of free slots, '7' or '7-9', below zero by their first.
-- `queue`, a sorted set: a request's id -> its place; '@' and a client -> the end of its lease as a
-- waiter, below zero by 9e15; '@' alone, at -9e15: other leases were over.
-- `meta`, a hash: a ticket's id -> 'slots token label', its slots as in 0,3,7-9; a waiting
-- request's id -> 'ttl;label'; 'pace', see pace.lua; '~' and the first id of an adopted ticket
-- -> its id now; 'stored' (the limit), 'layout' -> 2; 'state' -> 'last limit' and, where
-- somebody waits, ';waiting'; or, unless all permits are held by tickets of one each on the lowest
-- slots, within the limit, and no policy is in use, ';stored top held gaps count waiting' and then
-- the policies in use, a letter each, behind a space. last: the last token or place, 16 digits.
-- limit: that of the last caller. top: from there on no slot is held. held: permits. gaps: free
-- ranges below top. count: tickets.
--
-- `run` is what a call says of several semaphores: inbox, now (text), limit (text; '0': not known).

-- include: tell
local function text_of(number)
  return string.format('%d', number)
end

local function add(list, first, second)
  local size = #list
  list[size + 1], list[size + 2] = first, second
end

-- Lua's stack carries no more than a few thousand arguments.
local function write(list, command, key)
  for first = 1, #list, 4000 do
    redis.call(command, key, unpack(list, first, math.min(first + 3999, #list)))
  end
end

-- Whose request it is, and for how many permits. An adopted ticket's id continues with ~.
local function parts_of(id)
  local client, permits = string.match(id, '^([^.]*)%.?[^.~]*%.?(%d*)')
  return client, permits == '' and 1 or permits + 0
end

-- 'slots token', slots and token, where it is a ticket's record.
local function ticket_of(record)
  return string.match(record or '', '^(([%d,-]+) (%d+)) ')
end

-- The next token or place.
local function next_number(s)
  s.last = math.max(s.last + 1, s.now)
  return text_of(s.last)
end

-- include: rate slots
-- False where the state is missing, was written by somebody else, or is not what the keys hold.
local function read_state(s)
  local others, state = redis.call('ZCARD', s.tickets) - 1, redis.call('HGET', s.meta, 'state')
  local last, limit, stored, top, held, gaps, count, waiting, policy =
    string.match(state or '', '^(%d+) (%d+);?(%d*) ?(%d*) ?(%d*) ?(%d*) ?(%d*) ?(%d*) ?(%a*)$')
  if not last or #last ~= 16 then
    return false
  end
  s.state, s.last, s.configured, s.short = state, last + 0, limit, top == ''
  -- An old `meta` that was restored alone may count as many tickets and free ranges together, but
  -- others of each.
  local free_ranges = redis.call('ZCOUNT', s.tickets, '-inf', '(0')
  if not s.short and waiting == '' then
    return false
  end
  if s.short then
    s.top, s.held, s.count, s.waiting = others, others, others, stored == '' and 0 or stored + 0
    return others >= 0 and free_ranges == 0 and redis.call('HLEN', s.meta) == others + s.waiting + 2
  end
  s.stored, s.top, s.held, s.gaps = stored, top + 0, held + 0, gaps + 0
  s.count, s.waiting, s.policy = count + 0, waiting + 0, policy
  return free_ranges == s.gaps and others == s.count + s.gaps
end

-- Gives back those of the ids that are tickets, by their records: which ones, and how many.
local function drop(s, ids, records)
  local gone, fields, total = {}, {}, 0
  for i = 1, #ids do
    local id, _, slots = ids[i], ticket_of(records[i])
    if slots and not gone[id] then
      total = total + 1
      gone[id], fields[total] = true, id
      free(s, slots)
    end
  end
  if total > 0 then
    s.count = s.count - total
    redis.call('ZREM', s.tickets, unpack(fields))
    for i = 1, s.short and 0 or total do
      fields[#fields + 1] = string.match(fields[i], '~.*$')
    end
    redis.call('HDEL', s.meta, unpack(fields))
  end
  return gone, total
end

local function drop_by_id(s, ids)
  return drop(s, ids, ids[1] and redis.call('HMGET', s.meta, unpack(ids)) or {})
end

-- include: order recount
-- For the ids, behind all that wait.
local function has_room(s, ids)
  local wanted = s.waiting
  for i = 1, #ids do
    local _, permits = parts_of(ids[i])
    wanted = wanted + permits
  end
  return s.held + wanted <= s.limit
end

-- Drops what has expired. Of very many not all: some hundred, as many as make room for the ids, and
-- the ids themselves. The next calls drop the others.
local function purge(s, ids)
  local dropped = 0
  repeat
    local found = redis.call('ZRANGEBYSCORE', s.tickets, '0', s.run.now, 'LIMIT', '0', '100')
    local _, total = drop_by_id(s, found)
    if total < #found then
      recount(s)
    end
    dropped = dropped + #found
  until #found < 100 or dropped >= 300 and has_room(s, ids)
  if dropped >= 300 and ids[1] then
    local scores, dead = redis.call('ZMSCORE', s.tickets, unpack(ids)), {}
    for i = 1, #ids do
      dead[#dead + 1] = scores[i] and scores[i] + 0 <= s.now and ids[i] or nil
    end
    drop_by_id(s, dead)
  end
end

-- A semaphore as the call finds it. `ids`: those that the call asks for. More than 32 fields cost a
-- lot.
local function open(tickets, meta, queue, run, ids)
  local s = {
    tickets = tickets, meta = meta, queue = queue, run = run, now = run.now + 0, own = run.limit,
    client = string.match(run.inbox, '[^:]*$'),
    last = 0, top = 0, held = 0, gaps = 0, count = 0, waiting = 0, configured = '', stored = '', told = '',
    policy = '',
    adds = {}, comers = {}, fields = {}, freed = {},
  }
  if not read_state(s) or string.find(s.policy, 'o', 1, true) and not read_order(s) then
    recount(s)
  end
  s.waited = s.waiting > 0
  if s.own == '0' then
    s.own = s.configured == '' and '1' or s.configured
  end
  s.limit = (s.stored == '' and s.own or s.stored) + 0
  if s.count > 0 then
    purge(s, ids)
  end
  if s.stored ~= '' then
    s.told = s.stored ~= s.own and 's' .. s.stored or ''
  elseif s.configured ~= '' and s.configured ~= s.own and s.count + s.waiting > 0 then
    s.told = 'o' .. s.configured
  end
  if s.recounted or string.find(s.policy, 'r', 1, true) then
    read_rate(s)
  end
  return s
end

-- An old `meta` that was restored alone may count as many tickets as there are, but others: nobody
-- could give back one without a record. `known`: those of the ids that have one.
local function find_lost(s, ids, known)
  for i = 1, #ids do
    if not known[ids[i]] and redis.call('ZSCORE', s.tickets, ids[i]) then
      return recount(s)
    end
  end
end
