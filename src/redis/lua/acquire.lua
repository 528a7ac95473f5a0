-- include: clock purge grant
-- Grants tickets, or queues their requests.
--
-- KEYS  tickets, slots, free, queue, waiters, meta
-- ARGV  1 now (microseconds; '' on a real server)   2 limit   3 start of inbox channels   4 client
--       5 label (without spaces, ; or |)   6 ttl (ms)   7 not after (microseconds, or '')
--       then two for each request, at most 1000 of them: id, and '' to wait, 't' to try only, or the
--       arrival number that an earlier reply told
-- Reply 'now|nearest expiry or empty|verdict;verdict…|grants', a verdict being '+token slots', 'q' and the
--       arrival number, 'b' when busy, 'l' when late; grants are other requests of the same client
--       that were served on this occasion, 'id token slots expiry;…'
-- Cost  O(log n) for each request, expired ticket and grant; a call that runs twice changes nothing the second time

local label, ttl = ARGV[5], ARGV[6] * 1000.0
local verdicts, ids, own = {}, {}, {}
for i = 8, #ARGV, 2 do
  ids[#ids + 1] = ARGV[i]
end

if ARGV[7] ~= '' and now > ARGV[7] * 1.0 then
  serve_queue(nil, 0)
  write_grants(label)
  for i = 1, #ids do
    verdicts[i] = 'l'
  end
  settle(false)
  return f(now) .. '||' .. table.concat(verdicts, ';') .. '|' .. tell_waiters(nil)
end

local records = redis.call('HMGET', slots, unpack(ids))
local places = {}
if waiting > 0 then
  places = redis.call('ZMSCORE', queue, unpack(ids))
end

-- Requests that were dropped (claim or lease over, data lost) return to their old place.
local entries = {}
for i = 1, #ids do
  local arrival = ARGV[7 + 2 * i]
  if not some(records[i]) and not some(places[i]) and arrival ~= '' and arrival ~= 't' then
    places[i] = arrival
    waiting = waiting + 1
    entries[#entries + 1] = arrival
    entries[#entries + 1] = ids[i]
  end
  own[ids[i]] = true
end
spread('ZADD', queue, entries)
serve_queue(own, ttl)

local scores, left = {}, false
entries = {}
for i = 1, #ids do
  local id, permits = ids[i], permits_of(ids[i])
  if some(records[i]) then
    local held_slots, token = string.match(records[i], '^([^ ]+) (%d+)')
    verdicts[i] = '+' .. token .. ' ' .. held_slots
    scores[#scores + 1] = f(now + ttl)
    scores[#scores + 1] = id
  elseif some(places[i]) then
    verdicts[i] = 'q' .. f(places[i] * 1.0)
  elseif not blocked and held + permits <= limit then
    grant(id, permits, now + ttl)
  elseif ARGV[7 + 2 * i] == 't' then
    verdicts[i] = 'b'
  else
    blocked = true
    last = math.max(last + 1, now)
    verdicts[i] = 'q' .. f(last)
    entries[#entries + 1] = f(last)
    entries[#entries + 1] = id
    changed = true
    waiting = waiting + 1
  end
end
spread('ZADD', queue, entries)
spread('ZADD', tickets, scores)
write_grants(label)

for i = 1, #ids do
  if tokens[ids[i]] then
    verdicts[i] = '+' .. tokens[ids[i]]
  elseif string.sub(verdicts[i], 1, 1) == 'q' then
    left = true
  end
end
local nearest = ''
if left then
  redis.call('ZADD', waiters, f(now + WAITER_LEASE), client)
  redis.call('HSET', meta, 'label.' .. client, label)
  nearest = redis.call('ZRANGE', tickets, 0, 0, 'WITHSCORES')[2]
  nearest = nearest and f(nearest * 1.0) or ''
end
settle(left or #scores > 0)
return f(now) .. '|' .. nearest .. '|' .. table.concat(verdicts, ';') .. '|' .. tell_waiters(own)
