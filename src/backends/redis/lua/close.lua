-- Fragment of the slow paths: the end of a semaphore's part of the call, which writes what it gave
-- and what the next call must know.
--
-- The reply is 'now|semaphore|…', a semaphore being its verdicts, which end in
-- '/limit/grants/nearest' where there is something to say. limit: 's' and the stored one where it
-- is not the caller's, or 'o' and that of another caller. grants: other requests of the caller that
-- were served, 'id slots token expiry;…'. nearest: when the next ticket expires, or the rate may
-- allow the caller's next request, where the caller waits.

-- include: pace
local function write_state(s)
  local short = s.policy == '' and s.stored == '' and s.gaps == 0 and s.held == s.count and s.held <= s.limit
  if short and not s.short then
    -- Adopted tickets have two fields: then the number of fields does not give that of tickets.
    write(s.fields, 'HSET', s.meta)
    s.fields = {}
    short = redis.call('HLEN', s.meta) == s.count + s.waiting + (s.state and 2 or 1)
  end
  local state = text_of(s.last) .. ' ' .. s.own
  if s.doubt then
    -- The keys disagree about the queue: the next call counts again.
    state = state .. ';' .. s.stored .. ' 0'
  elseif not short then
    local counts = string.format(' %d %d %d %d %d', s.top, s.held, s.gaps, s.count, s.waiting)
    state = state .. ';' .. s.stored .. counts .. (s.policy == '' and '' or ' ' .. s.policy)
  elseif s.waiting > 0 then
    state = state .. ';' .. text_of(s.waiting)
  end
  if s.fields[1] or state ~= s.state then
    add(s.fields, 'state', state)
    write(s.fields, 'HSET', s.meta)
  end
end

-- Keys live a day longer than the last ticket, and than what the rate must know. Their expiry never
-- moves back, and not at every call.
local function renew(s)
  local ends = math.max(s.ends or 0, s.rate and s.rate.tat or 0)
  if s.recounted or redis.call('PTTL', s.tickets) < math.max(ends - s.now, 0) / 1000 + 43200000 then
    local last = redis.call('ZREVRANGEBYSCORE', s.tickets, '(9000000000000000', '0', 'WITHSCORES', 'LIMIT', '0', '1')[2]
    local life = text_of(math.ceil(math.max((last or 0) - s.now, ends - s.now, 0) / 1000) + KEYS_LIFE_MS)
    redis.call('PEXPIRE', s.tickets, life)
    redis.call('PEXPIRE', s.meta, life)
  end
end

-- Notifies other clients of their grants, at most 100 in a message; those of the caller go with the
-- reply.
local function publish(s)
  for client, lines in pairs(s.grants or {}) do
    for first = 1, client ~= s.client and #lines or 0, 100 do
      tell(s.run.inbox, s.meta, client, table.concat(lines, ';', first, math.min(first + 99, #lines)))
    end
  end
  return table.concat(s.grants and s.grants[s.client] or {}, ';')
end

-- `waits`: the first of its requests that does.
local function nearest(s, waits)
  local found = redis.call('ZRANGEBYSCORE', s.tickets, '0', '(9000000000000000', 'WITHSCORES', 'LIMIT', '0', '1')
  local time = found[2] and found[2] + 0
  local turn = s.rate and turn_by_rate(s, waits)
  time = turn and math.min(turn, time or turn) or time
  return time and text_of(time) or ''
end

-- `waits`: the caller's first request that waits, else nil or false.
local function close(s, body, waits)
  if s.absent and not s.adds[1] and not s.fields[1] and s.waiting == 0 then
    return body
  end
  settle(s)
  settle_order(s)
  settle_pace(s)
  if s.recounted then
    add(s.adds, '9000000000000000', '.')
    add(s.fields, 'layout', '2')
  end
  write(s.adds, 'ZADD', s.tickets)
  if s.rate and s.rate.changed then
    add(s.fields, 'tat', text_of(s.rate.tat) .. ' ' .. text_of(s.rate.granted))
  end
  write_state(s)
  if s.waiting == 0 and s.waited then
    redis.call('DEL', s.queue)
  end
  renew(s)
  local own = publish(s)
  if s.turn and (not s.asks or s.moved and parts_of(s.turn) ~= s.client) then
    tell_turn(s)
  end
  if s.told == '' and own == '' and not waits then
    return body
  end
  return body .. '/' .. s.told .. '/' .. own .. '/' .. (waits and nearest(s, waits) or '')
end
