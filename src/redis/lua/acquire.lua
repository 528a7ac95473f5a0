-- Grants tickets, or queues their requests.
--
-- KEYS  tickets, free, queue, waiters, meta
-- ARGV  1 now (microseconds; '' on a real server)   2 limit   3 start of inbox channels   4 client
--       5 label (without spaces, ; or |)   6 ttl (ms)   7 not after (microseconds, or '')
--       8 how many requests were queued before; the rest are new   9 '' if all new ones wait, else a letter for
--       each, w to wait, t to try only
--       10 '1' if any asks for more than one permit, then the ids, at most 1000, and an arrival number for each
--       of those that were queued before
-- Reply 'now|nearest expiry or empty|verdict;verdict…|grants', a verdict being 'slots token', 'q' and the
--       arrival number, 'b' when busy, 'l' when late; grants are other requests of the same client
--       that were served on this occasion, 'id slots token expiry;…'
-- Cost  O(log n) for each request, expired ticket and grant, and each freed permit; a call that runs twice changes nothing the second time

-- include: clock
local known, kinds = ARGV[8] * 1.0, ARGV[9]
local total = #ARGV - 10 - known
local ids = { unpack(ARGV, 11, 10 + total) }
local stored = call('HMGET', meta, 'state', 'limit', unpack(ids))
local need = ARGV[10] == '1' and math.huge or 1
for i = 1, total do
  -- What is known of an id must be right.
  if type(stored[i + 2]) == 'string' then
    need = math.huge
    break
  end
end
local giving = false
-- include: state

-- Whether a script may run at maxmemory is decided by its first write, so it is this one, which takes no memory.
call('PEXPIRE', meta, meta_life)

ttl = ARGV[6] * 1000.0
local late, places = ARGV[7] ~= '' and now > ARGV[7] * 1.0, {}
if not late and waiting + known > 0 then
  places = call('ZMSCORE', queue, unpack(ids))
  for i = 1, total do
    own[ids[i]] = true
    -- Requests that were dropped (claim or lease over, data lost) return to their old place.
    local record = stored[i + 2]
    local ticket = type(record) == 'string' and match(record, ' ') and not expired[ids[i]]
    if i <= known and not ticket and type(places[i]) ~= 'string' then
      places[i] = ARGV[10 + total + i]
      call('ZADD', waiters, format('%.0f', now + WAITER_LEASE), client)
      waiting, waited = waiting + call('ZADD', queue, places[i], ids[i]), true
      fields[#fields + 1] = ids[i]
      fields[#fields + 1] = ARGV[5]
      call('HSET', meta, ids[i], ARGV[5])
    end
  end
end
-- include: serve

local verdicts, again, arrivals, seen = {}, nil, nil, {}
for i = 1, total do
  local id, record = ids[i], stored[i + 2]
  local held_slots = not expired[id] and type(record) == 'string' and match(record, '^[%d,-]+ %d+')
  if late then
    verdicts[i] = 'l'
  elseif held_slots then
    verdicts[i] = held_slots
    again = again or {}
    again[#again + 1] = format('%.0f', now + ttl)
    again[#again + 1] = id
  elseif type(places[i]) == 'string' then
    verdicts[i] = 'q' .. format('%.0f', places[i] * 1.0)
  elseif seen[id] then
    verdicts[i] = verdicts[seen[id]] or 'b'
  else
    own[id], seen[id] = true, i
    local permits = 1
    if ARGV[10] == '1' then
      permits = (match(id, '%.[^.]+%.(%d+)$') or 1) * 1.0
    end
    if not blocked and held + permits <= limit then
      granted, held, wanted = granted + 1, held + permits, wanted + permits
      new_ids[granted], new_permits[granted], new_expiries[granted] = id, permits, now + ttl
    elseif kinds ~= '' and string.sub(kinds, i - known, i - known) == 't' then
      verdicts[i] = 'b'
    else
      blocked, last, arrivals = blocked or permits <= limit, math.max(last + 1, now), arrivals or {}
      arrivals[#arrivals + 1] = format('%.0f', last)
      arrivals[#arrivals + 1] = id
      verdicts[i] = 'q' .. arrivals[#arrivals - 1]
      fields[#fields + 1] = id
      fields[#fields + 1] = ARGV[5]
    end
  end
end
-- Keys of a wrong type are found before anything is written.
if arrivals then
  call('ZCARD', queue)
end
if (known > 0 and waiting > 0 and not late) or arrivals then
  renewed = now + WAITER_LEASE
  call('ZADD', waiters, format('%.0f', renewed), client)
end
if arrivals then
  waiting = waiting + call('ZADD', queue, unpack(arrivals))
end
if again then
  call('ZADD', tickets, unpack(again))
  renewed = math.max(renewed, now + ttl)
end
-- include: write

local nearest = ''
if waiting > 0 then
  nearest = call('ZRANGE', tickets, 0, 0, 'WITHSCORES')[2]
  nearest = nearest and format('%.0f', nearest * 1.0) or ''
end
for i = 1, total do
  verdicts[i] = not late and tokens[ids[i]] or verdicts[i]
end
return now_text .. '|' .. nearest .. '|' .. table.concat(verdicts, ';') .. '|' .. table.concat(told, ';')
