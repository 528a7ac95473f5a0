-- Fragment of semaphore.lua: the order of the queue, while a request in it has a priority or a
-- group, or asks for more than the limit.
-- Priority comes first, then the tag, then arrival: self-clocked fair queueing (Golestani, 1994).
--
-- A flow is what has one priority and one group. Its first request is its head, and heads alone
-- have a tag: virtual time when the request becomes the head, and its cost, a million for each
-- permit, divided by the weight. The virtual time of a priority is the tag of its last grant, and 0
-- where no head waits. A head that leaves without a grant hands its start, the tag without the
-- cost, to the next of its flow. Of a flow that does not wait nothing is kept: virtual time is
-- never before its last tag.
--
-- `queue`: a head, 'place id' -> band + tag, where a band is 1.4e14 for each priority above it;
-- behind it 'place id' -> -1.5e15 - number of the flow; in the flow of requests without options,
-- behind its head, ids as ever. 'place id' -> -1.7e15 + permits: asks for more than the limit.
-- `meta`: '&priority group' -> 'number head'; a request's id -> 'ttl;label;place priority weight
-- group', where its member is 'place id'; 'order' -> 'numbers others parked band:time …': flow
-- numbers given, requests of other flows than the plain one, requests for more than the limit, and
-- virtual times.

local function request_of(id, base, place, priority, weight, group)
  local _, permits = parts_of(id)
  local r = { id = id, base = base, place = place, permits = permits, member = place .. ' ' .. id }
  r.flow, r.band, r.low = '&' .. priority .. ' ' .. group, 9 - priority, (9 - priority) * 1.4e14
  r.plain, r.cost = r.flow == '&0 ', math.floor(permits * 1000000 / weight)
  r.rank, r.record = r.low + r.cost, base .. ';' .. place .. ' ' .. priority .. ' ' .. weight .. ' ' .. group
  return r
end

-- The request that has such a record; nil for any other record.
local function read_request(id, record)
  local base, place, priority, weight, group =
    string.match(record or '', '^(%d+;[^;]*);(%d+) (%d) (%d+) (%S*)$')
  return base and request_of(id, base, place, priority, weight, group)
end

local function request_at(s, member)
  local id = string.match(member, '[^ ]+$')
  return read_request(id, redis.call('HGET', s.meta, id))
end

local function new_order()
  return { numbers = 0, others = 0, parked = 0, last = {}, touched = {}, text = '' }
end

-- How many wait.
local function count_waiting(s)
  local ordered = s.order and redis.call('ZCOUNT', s.queue, '-1700000000000000', '-1500000000000000') or 0
  return ordered + redis.call('ZCOUNT', s.queue, '0', '+inf')
end

-- False where it is missing, or not what the queue holds.
local function read_order(s)
  local text = redis.call('HGET', s.meta, 'order') or ''
  local numbers, others, parked, starts = string.match(text, '^(%d+) (%d+) (%d+)(.*)$')
  local order = new_order()
  s.order, order.text = order, text
  if not numbers then
    return false
  end
  order.numbers, order.others, order.parked = numbers + 0, others + 0, parked + 0
  for band, start in string.gmatch(starts, '(%d):(%d+)') do
    order.last[band + 0] = start + 0
  end
  return count_waiting(s) == s.waiting
end

-- It is the head of its flow, the number of which is given.
local function lead(s, r, number, start)
  redis.call('ZADD', s.queue, text_of(r.low + start + r.cost), r.member)
  redis.call('HSET', s.meta, r.id, r.record, r.flow, number .. ' ' .. r.member)
end

local function follow(s, r, number)
  if r.plain then
    redis.call('ZREM', s.queue, r.member)
    redis.call('ZADD', s.queue, r.place, r.id)
  else
    redis.call('ZADD', s.queue, text_of(-1.5e15 - number), r.member)
  end
  redis.call('HSET', s.meta, r.id, r.plain and r.base or r.record)
end

local function virtual_time(s, r)
  return s.order and s.order.last[r.band] or 0
end

-- What a head hands to the next of its flow.
local function start_of(r, score)
  return score - r.low - r.cost
end

-- The number of a flow that waits, its head and the score of that.
local function head_of(s, flow)
  local number, head = string.match(redis.call('HGET', s.meta, flow) or '', '^(%d+) (.+)$')
  local score = number and redis.call('ZSCORE', s.queue, head)
  if score then
    return number, head, score + 0
  end
end

-- Takes its place in its flow: before the head, if it was dropped and came earlier.
local function join(s, r)
  local number, head, score = head_of(s, r.flow)
  if not number then
    s.order.numbers = s.order.numbers + 1
    return lead(s, r, text_of(s.order.numbers), virtual_time(s, r))
  end
  local first = r.member < head and request_at(s, head)
  if first then
    follow(s, first, number)
    lead(s, r, number, start_of(first, score))
  else
    follow(s, r, number)
  end
end

-- The next of a flow becomes its head.
local function succeed(s, r, start)
  local number, follower = string.match(redis.call('HGET', s.meta, r.flow) or '', '^%d+'), nil
  if number and r.plain then
    local id = redis.call('ZRANGEBYSCORE', s.queue, '1500000000000000', '+inf', 'WITHSCORES', 'LIMIT', '0', '1')
    local base = id[1] and redis.call('HGET', s.meta, id[1]) or 'CLAIM_TIME_US;?'
    follower = id[1] and request_of(id[1], base, text_of(id[2]), 0, 1, '')
    redis.call('ZREM', s.queue, id[1] or '')
  elseif number then
    local score = text_of(-1.5e15 - number)
    local member = redis.call('ZRANGEBYSCORE', s.queue, score, score, 'LIMIT', '0', '1')[1]
    follower = member and request_at(s, member)
  end
  if follower then
    return lead(s, follower, number, start)
  end
  redis.call('HDEL', s.meta, r.flow)
  s.order.touched[r.band] = true
end

-- Takes virtual time back, before a band has no room for it.
local function rebase(s, low, by)
  local found = redis.call('ZRANGEBYSCORE', s.queue, text_of(low), '(' .. text_of(low + 1.4e14), 'WITHSCORES')
  for i = 1, #found, 2 do
    redis.call('ZADD', s.queue, text_of(found[i + 1] - by), found[i])
  end
end

-- Has that score, and is granted, from the queue or past it.
local function charge(s, r, score)
  local time = math.max(virtual_time(s, r), score - r.low)
  if time > 1e14 then
    -- No head has a start more than the largest cost, 2^24 permits, before it.
    rebase(s, r.low, time - 2e13)
    time = 2e13
  end
  s.order.last[r.band] = time
end

-- Leaves the queue, where it has that score.
local function leave(s, r, score, is_granted)
  redis.call('ZREM', s.queue, r.member)
  local order = s.order
  s.waiting, order.others = s.waiting - 1, order.others - (r.plain and 0 or 1)
  if is_granted then
    charge(s, r, score)
    return succeed(s, r, virtual_time(s, r))
  end
  redis.call('HDEL', s.meta, r.id)
  if score >= 0 then
    succeed(s, r, start_of(r, score))
  elseif score < -1.6e15 then
    order.parked = order.parked - 1
  end
end

-- Asks for more than the limit: waits aside until that has grown.
local function park(s, r, score)
  redis.call('ZADD', s.queue, text_of(r.permits - 1.7e15), r.member)
  s.order.parked = s.order.parked + 1
  succeed(s, r, start_of(r, score))
end

-- Writes the requests that joined so far.
local function write_comers(s)
  write(s.comers, 'ZADD', s.queue)
  write(s.fields, 'HSET', s.meta)
  s.comers, s.fields = {}, {}
end

-- From here on there is an order beside that of arrival.
local function begin_order(s)
  write_comers(s)
  s.order, s.policy = new_order(), s.policy .. 'o'
  local plain = request_of('.', '', '', 0, 1, '')
  s.order.numbers = 1
  redis.call('HSET', s.meta, plain.flow, '1 ')
  succeed(s, plain, 0)
end

-- Whether all that wait are of the plain flow, which has no start before virtual time: then the
-- next order begins as this one ends. Gives the head as well.
local function is_plain(s)
  if s.order.others + s.order.parked > 0 then
    return false
  end
  local _, head, score = head_of(s, '&0 ')
  local r = head and request_at(s, head)
  return not r or start_of(r, score) == virtual_time(s, r), r
end

local function settle_order(s)
  local order = s.order
  if not order then
    return
  end
  for band in pairs(order.touched) do
    if redis.call('ZCOUNT', s.queue, text_of(band * 1.4e14), '(' .. text_of((band + 1) * 1.4e14)) == 0 then
      order.last[band] = nil
    end
  end
  local ends, head = is_plain(s)
  if ends then
    if head then
      follow(s, head, 0)
    end
    redis.call('HDEL', s.meta, 'order', '&0 ')
    s.order, s.policy = nil, string.gsub(s.policy, 'o', '')
    return
  end
  local text = text_of(order.numbers) .. ' ' .. text_of(order.others) .. ' ' .. text_of(order.parked)
  for band = 0, 9 do
    text = order.last[band] and text .. ' ' .. band .. ':' .. text_of(order.last[band]) or text
  end
  if text ~= order.text then
    add(s.fields, 'order', text)
  end
end
