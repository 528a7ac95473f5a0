-- Grants tickets, or queues their requests.
--
-- KEYS  tickets, free, queue, waiters, meta
-- ARGV  1 limit (and, after a space, a clock: see clock.lua)   2 the caller's inbox channel, which ends in its name
--       3 label (without spaces, ; or |)   4 ttl (ms)   5 not after (microseconds, or '')
--       6 '' or 'known weighted kinds'. known: how many requests were queued before; the rest are new. weighted: 1 if any asks
--       for more than one permit. kinds: nothing if all new ones wait, else a letter for each, w to wait, t to try only
--       7 the ids, at most 1000   8 the arrival numbers of those that were queued before
-- Reply 'head|nearest expiry or empty|verdict;verdict…|grants', the head as in state.lua, a verdict being 'slots token', 'q' and the
--       arrival number, 'b' when busy, 'l' when late, 'o' and the limit where more permits are asked for. Where each got one permit it may be 'n' and the first 'slot token', from
--       which the others count on. Grants are other requests of the same client that were served on this occasion, 'id slots
--       token expiry;…'
-- Cost  O(log n) for each request, expired ticket and grant, and each freed permit; a call that runs twice changes nothing the second time

-- include: clock
local known, weighted, kinds = 0, false, ''
if ARGV[6] ~= '' then
  known, weighted, kinds = match(ARGV[6], '^(%d+) (%d) (%a*)$')
  known, weighted = known * 1.0, weighted == '1'
end
local giving, listed = false, ARGV[7]
-- include: ids
-- Of many that are new, nothing need be known where there is room for all.
local all_known = total < 8
local stored = all_known and call('HMGET', meta, 'state', 'limit', unpack(ids, 1, total)) or call('HMGET', meta, 'state', 'limit')
-- include: state grant-all
if not all_known then
  stored = call('HMGET', meta, 'state', 'limit', unpack(ids, 1, total))
end
-- include: purge

label, ttl = ARGV[3], ARGV[4] * 1000.0
local late, queued_at = ARGV[5] ~= '' and now > ARGV[5] * 1.0, nil
if not late and waiting + known > 0 then
  client = match(ARGV[2], '[^:]*$')
  if known > 0 then
    -- Whether a script may run at maxmemory is decided by its first write: this one takes no memory.
    call('PEXPIRE', waiters, math.ceil(math.max(until_ - now, WAITER_LEASE) / 1000))
    -- An old `meta` that was restored alone may know of fewer than wait: they would not be served.
    waiting = call('ZCARD', queue) * 1.0
  end
  queued_at, own = call('ZMSCORE', queue, unpack(ids, 1, total)), {}
  local next_arrival = string.gmatch(ARGV[8] or '', '%S+')
  for i = 1, total do
    local id, record = ids[i], stored[i + 2]
    local arrival = next_arrival()
    own[id] = own[id] or i
    -- Requests that were dropped (claim or lease over, data lost) return to their old place.
    local ticket = type(record) == 'string' and match(record, ' ') and not (expired and expired[id])
    if i <= known and own[id] == i and not ticket and type(queued_at[i]) ~= 'string' then
      -- Nobody's number may bring those of all others to where a float has no next one.
      queued_at[i] = format('%.0f', math.min(arrival * 1.0, 9e15))
      -- Where data was lost while the clock was behind: those who come now must come behind it.
      if queued_at[i] * 1.0 > last then
        last = queued_at[i] * 1.0
        last_text = format('%.0f', last)
      end
      call('ZADD', waiters, format('%.0f', now + WAITER_LEASE), client)
      waiting, waited, queued = waiting + call('ZADD', queue, queued_at[i], id), true, true
      fields = fields or {}
      fields[filled + 1], fields[filled + 2] = id, label
      filled = filled + 2
      call('HSET', meta, id, label)
    end
  end
end
-- include: serve

local verdicts, waits = { '' }, false
local again, repeats, arrivals, comers, seen, twins = nil, 0, nil, 0, total > 1 and {} or nil, nil
for i = 1, total do
  local id, record = ids[i], stored[i + 2]
  local first = own and own[id] or seen and seen[id] or i
  local held_slots = type(record) == 'string' and not (expired and expired[id]) and match(record, '^[%d,-]+ %d+')
  if late then
    verdicts[i] = 'l'
  elseif held_slots then
    verdicts[i] = held_slots
    again = again or {}
    again[repeats + 1], again[repeats + 2] = format('%.0f', now + ttl), id
    repeats = repeats + 2
  elseif first ~= i then
    verdicts[i], twins = '', twins or {}
    twins[i] = first
  elseif queued_at and type(queued_at[i]) == 'string' then
    verdicts[i], waits = 'q' .. format('%.0f', queued_at[i] * 1.0), waits or waiting > 0
  else
    local permits = 1
    if weighted then
      permits = (match(id, '^[^.]+%.[^.~]+%.(%d+)') or 1) * 1.0
    end
    if permits > limit then
      verdicts[i] = 'o' .. format('%.0f', limit)
    elseif not blocked and held + permits <= limit then
      granted, held, wanted = granted + 1, held + permits, wanted + permits
      if grant_ids then
        grant_ids[granted], places[granted] = id, i
      else
        grant_ids, places = { id }, { i }
      end
      if permits > 1 then
        weights = weights or {}
        weights[granted] = permits
      end
    elseif kinds ~= '' and string.sub(kinds, i - known, i - known) == 't' then
      verdicts[i] = 'b'
    else
      blocked, last, arrivals, fields = true, math.max(last + 1, now), arrivals or {}, fields or {}
      last_text = format('%.0f', last)
      arrivals[comers + 1], arrivals[comers + 2] = last_text, id
      fields[filled + 1], fields[filled + 2] = id, label
      comers, filled = comers + 2, filled + 2
      verdicts[i] = 'q' .. last_text
    end
    if seen then
      seen[id] = i
    end
  end
end
-- Keys of a wrong type are found before anything is written; where no permit is free, `tickets` was looked at above.
if arrivals and call('ZCARD', queue) == 0 then
  queued = true
end
if waits or arrivals then
  client = client or match(ARGV[2], '[^:]*$')
  renewed = now + WAITER_LEASE
  if call('ZADD', waiters, format('%.0f', renewed), client) > 0 then
    queued = true
  end
end
if arrivals then
  call('ZREMRANGEBYSCORE', waiters, '-inf', now_text)
  local arrived = call('ZADD', queue, unpack(arrivals))
  if waiting < FEW and waiting + arrived >= FEW then
    fields[filled + 1], fields[filled + 2] = 'long', LONG
    filled = filled + 2
    call('ZADD', queue, last_text, LONG)
    call('ZREM', queue, LONG)
  end
  waiting = waiting + arrived
end
if again then
  call('ZADD', tickets, unpack(again))
  renewed = math.max(renewed, now + ttl)
end
-- include: write

for i, first in pairs(twins or {}) do
  verdicts[i] = verdicts[first]
end
local nearest = ''
if waiting > 0 then
  nearest = call('ZRANGE', tickets, '0', '0', 'WITHSCORES')[2]
  nearest = nearest and format('%.0f', nearest * 1.0) or ''
end
return head .. '|' .. nearest .. '|' .. table.concat(verdicts, ';') .. '|' .. told
