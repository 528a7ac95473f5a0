-- Grants tickets, or queues their requests.
--
-- KEYS  tickets, free, queue, waiters, meta
-- ARGV  1 now (microseconds; '' on a real server)   2 limit   3 start of inbox channels   4 client
--       5 label (without spaces, ; or |)   6 ttl (ms)   7 not after (microseconds, or '')
--       8 how many requests were queued before; the rest are new   9 '' if all new ones wait, else a letter for
--       each, w to wait, t to try only
--       10 '1' if any asks for more than one permit, then the ids, at most 1000, and an arrival number for each
--       of those that were queued before
-- Reply 'head|nearest expiry or empty|verdict;verdict…|grants', the head as in state.lua, a verdict being 'slots token', 'q' and the
--       arrival number, 'b' when busy, 'l' when late; grants are other requests of the same client
--       that were served on this occasion, 'id slots token expiry;…'
-- Cost  O(log n) for each request, expired ticket and grant, and each freed permit; a call that runs twice changes nothing the second time

-- include: clock
local known, kinds = ARGV[8] * 1.0, ARGV[9]
local total = #ARGV - 10 - known
local from, to = 11, 10 + total
local stored = call('HMGET', meta, 'state', 'limit', unpack(ARGV, 11, to))
local need = ARGV[10] == '1' and math.huge or 1
for i = 3, total + 2 do
  -- What is known of an id must be right.
  if type(stored[i]) == 'string' then
    need = math.huge
    break
  end
end
local giving = false
-- include: state

ttl = ARGV[6] * 1000.0
local late, places = ARGV[7] ~= '' and now > ARGV[7] * 1.0, nil
if not late and waiting + known > 0 then
  if known > 0 then
    -- Whether a script may run at maxmemory is decided by its first write: this one takes no memory.
    call('PEXPIRE', waiters, math.ceil(math.max(until_ - now, WAITER_LEASE) / 1000))
  end
  places, own = call('ZMSCORE', queue, unpack(ARGV, 11, to)), {}
  for i = 1, total do
    local id, record = ARGV[10 + i], stored[i + 2]
    own[id] = i
    -- Requests that were dropped (claim or lease over, data lost) return to their old place.
    local ticket = type(record) == 'string' and match(record, ' ') and not (expired and expired[id])
    if i <= known and not ticket and type(places[i]) ~= 'string' then
      places[i] = ARGV[10 + total + i]
      -- Where data was lost while the clock was behind: those who come now must come behind it.
      if places[i] * 1.0 > last then
        last = places[i] * 1.0
        last_text = format('%.0f', last)
      end
      call('ZADD', waiters, format('%.0f', now + WAITER_LEASE), client)
      waiting, waited = waiting + call('ZADD', queue, places[i], id), true
      fields[#fields + 1] = id
      fields[#fields + 1] = ARGV[5]
      call('HSET', meta, id, ARGV[5])
    end
  end
end
-- include: serve

local verdicts, again, arrivals, seen, twins, waits = {}, nil, nil, total > 1 and {} or nil, nil, false
for i = 1, total do
  local id, record = ARGV[10 + i], stored[i + 2]
  local held_slots = type(record) == 'string' and not (expired and expired[id]) and match(record, '^[%d,-]+ %d+')
  if late then
    verdicts[i] = 'l'
  elseif held_slots then
    verdicts[i] = held_slots
    again = again or {}
    again[#again + 1] = format('%.0f', now + ttl)
    again[#again + 1] = id
  elseif places and type(places[i]) == 'string' then
    verdicts[i], waits = 'q' .. format('%.0f', places[i] * 1.0), waits or waiting > 0
  elseif seen and seen[id] then
    verdicts[i], twins = verdicts[seen[id]] or '', twins or {}
    twins[i] = seen[id]
  else
    local permits = 1
    if ARGV[10] == '1' then
      permits = (match(id, '%.[^.]+%.(%d+)$') or 1) * 1.0
    end
    if not blocked and held + permits <= limit then
      granted, held, wanted = granted + 1, held + permits, wanted + permits
      grants[granted] = { id, permits, ARGV[5], i }
    elseif kinds ~= '' and string.sub(kinds, i - known, i - known) == 't' then
      verdicts[i] = 'b'
    else
      blocked, last, arrivals = blocked or permits <= limit, math.max(last + 1, now), arrivals or {}
      last_text = format('%.0f', last)
      arrivals[#arrivals + 1] = last_text
      arrivals[#arrivals + 1] = id
      verdicts[i] = 'q' .. last_text
      fields[#fields + 1] = id
      fields[#fields + 1] = ARGV[5]
    end
    if seen then
      seen[id] = i
    end
  end
end
-- Keys of a wrong type are found before anything is written.
if arrivals then
  call('ZCARD', queue)
  call('ZCARD', tickets)
end
if waits or arrivals then
  renewed, queued = now + WAITER_LEASE, true
  call('ZADD', waiters, format('%.0f', renewed), client)
end
if arrivals then
  call('ZREMRANGEBYSCORE', waiters, '-inf', now_text)
  waiting = waiting + call('ZADD', queue, unpack(arrivals))
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
