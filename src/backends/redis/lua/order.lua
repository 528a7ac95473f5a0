-- Fragment of semaphore.lua: the order of the queue, while a request in it has a priority or a
-- group.
-- Priority comes first, then virtual start, then arrival: start-time fair queueing (Goyal, Vin and
-- Cheng, 1996).
--
-- A flow is what has one priority and one group. It has one head, with its virtual start: that of
-- the last grant of its priority, or its own last finish, whichever is later. A grant finishes
-- after a million for each permit, divided by the weight. Tags belong to heads: who leaves the
-- queue leaves no hole.
--
-- `queue`: a head, 'place id' -> band + start, where a band is 1.4e14 for each priority above it;
-- behind it 'place id' -> -1.5e15 - number of the flow, where 0 has the requests for more than the
-- limit; in the flow of those without options, behind its head, ids as ever. '&priority group' ->
-- -1.4e15 + band + finish: a flow that waits for nothing, until the last start reaches its finish.
-- `meta`: '&priority group' -> 'number head'; a request's id -> 'ttl;label;place priority weight
-- group', where its member is 'place id'; 'order' -> 'numbers flows-requests parked band:start …':
-- flow numbers given, requests of other flows than the plain one, requests for more than the limit,
-- and the starts of the last grants.

local function request_of(id, base, place, priority, weight, group)
  local _, permits = parts_of(id)
  local r = { id = id, base = base, place = place, permits = permits, member = place .. ' ' .. id }
  r.flow, r.band, r.low = '&' .. priority .. ' ' .. group, 9 - priority, (9 - priority) * 1.4e14
  r.plain, r.cost = r.flow == '&0 ', math.floor(permits * 1000000 / weight)
  r.record = base .. ';' .. place .. ' ' .. priority .. ' ' .. weight .. ' ' .. group
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
  local ordered = s.order and redis.call('ZCOUNT', s.queue, '-1600000000000000', '-1500000000000000') or 0
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
  redis.call('ZADD', s.queue, text_of(r.low + start), r.member)
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

-- The virtual start of a flow that waits for nothing.
local function start_of(s, r)
  local finish = redis.call('ZSCORE', s.queue, r.flow)
  return math.max(s.order.last[r.band] or 0, finish and finish + 1.4e15 - r.low or 0)
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
    local start = start_of(s, r)
    redis.call('ZREM', s.queue, r.flow)
    s.order.numbers = s.order.numbers + 1
    return lead(s, r, text_of(s.order.numbers), start)
  end
  local first = r.member < head and request_at(s, head)
  if first then
    follow(s, first, number)
    lead(s, r, number, score - r.low)
  else
    follow(s, r, number)
  end
end

-- The next of a flow becomes its head; where none waits, its finish is kept.
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
  if start > (s.order.last[r.band] or 0) then
    redis.call('ZADD', s.queue, text_of(r.low + start - 1.4e15), r.flow)
  end
end

-- Virtual time starts again from 0, before a float has no room for it.
local function rebase(s, band, start)
  for _, low in ipairs({ band * 1.4e14, band * 1.4e14 - 1.4e15 }) do
    local found = redis.call('ZRANGEBYSCORE', s.queue, text_of(low), '(' .. text_of(low + 1.4e14), 'WITHSCORES')
    for i = 1, #found, 2 do
      redis.call('ZADD', s.queue, text_of(math.max(found[i + 1] - start, low)), found[i])
    end
  end
end

-- Is granted, from the queue or past it.
local function charge(s, r, start)
  local order = s.order
  if start > 1e14 then
    rebase(s, r.band, start)
    start = 0
  end
  order.last[r.band], order.touched[r.band] = start, true
  succeed(s, r, start + r.cost)
end

-- Leaves the queue, where it has that score.
local function leave(s, r, score, is_granted)
  redis.call('ZREM', s.queue, r.member)
  local order = s.order
  s.waiting, order.touched[r.band] = s.waiting - 1, true
  order.others = order.others - (r.plain and 0 or 1)
  if is_granted then
    return charge(s, r, score - r.low)
  end
  redis.call('HDEL', s.meta, r.id)
  if score >= 0 then
    succeed(s, r, score - r.low)
  elseif score == -1.5e15 then
    order.parked = order.parked - 1
  end
end

-- Asks for more than the limit: waits aside until that has grown.
local function park(s, r, start)
  redis.call('ZADD', s.queue, '-1500000000000000', r.member)
  s.order.parked, s.order.touched[r.band] = s.order.parked + 1, true
  succeed(s, r, start)
end

-- From here on there is an order beside that of arrival.
local function begin_order(s)
  s.order, s.policy = new_order(), s.policy .. 'o'
  local plain = request_of('.', '', '', 0, 1, '')
  s.order.numbers = 1
  redis.call('HSET', s.meta, plain.flow, '1 ')
  succeed(s, plain, 0)
end

-- Forgets flows whose finish has passed; all of a priority for which nobody waits.
local function settle_band(s, band)
  local last, low = s.order.last[band] or 0, band * 1.4e14
  if redis.call('ZCOUNT', s.queue, text_of(low), '(' .. text_of(low + 1.4e14)) == 0 then
    s.order.last[band], last = nil, 1.4e14 - 1
  end
  redis.call('ZREMRANGEBYSCORE', s.queue, text_of(low - 1.4e15), text_of(low - 1.4e15 + last))
end

-- No request in the queue has options: all get the form of such.
local function end_order(s)
  for _, final in ipairs({ '(1400000000000000', '-1500000000000000' }) do
    local first = final == '-1500000000000000' and final or '0'
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', s.queue, first, final)) do
      local r = request_at(s, member)
      redis.call('ZREM', s.queue, member)
      if r then
        follow(s, r, 0)
      end
    end
  end
  redis.call('HDEL', s.meta, 'order', '&0 ')
  s.order, s.policy = nil, string.gsub(s.policy, 'o', '')
end

local function settle_order(s)
  local order = s.order
  for band in pairs(order and order.touched or {}) do
    settle_band(s, band)
  end
  if not order then
    return
  elseif order.others == 0 and redis.call('ZCOUNT', s.queue, '-1400000000000000', '(0') == 0 then
    return end_order(s)
  end
  local text = text_of(order.numbers) .. ' ' .. text_of(order.others) .. ' ' .. text_of(order.parked)
  for band = 0, 9 do
    text = order.last[band] and text .. ' ' .. band .. ':' .. text_of(order.last[band]) or text
  end
  if text ~= order.text then
    add(s.fields, 'order', text)
  end
end

local function rebuild_order(s, requests)
  redis.call('ZREMRANGEBYSCORE', s.queue, '-1600000000000000', '(1500000000000000')
  s.order = nil
  table.sort(requests, function(one, other)
    return one.member < other.member
  end)
  for _, r in ipairs(requests) do
    if r.plain then
      follow(s, r, 0)
    end
  end
  for _, r in ipairs(requests) do
    if not r.plain then
      if not s.order then
        begin_order(s)
      end
      s.order.others = s.order.others + 1
      join(s, r)
    end
  end
end

-- What is known of the order counts where it fits the queue; else it is made again.
local function recount_order(s, fields)
  local requests, flows, others = {}, {}, 0
  for i = 1, #fields, 2 do
    local r = read_request(fields[i], fields[i + 1])
    if string.sub(fields[i], 1, 1) == '&' then
      flows[#flows + 1] = fields[i]
    elseif r and redis.call('ZSCORE', s.queue, r.member) then
      requests[#requests + 1], s.last = r, math.max(s.last, r.place + 0)
      others = others + (r.plain and 0 or 1)
    end
  end
  s.policy, s.order = string.gsub(s.policy, 'o', ''), nil
  if not flows[1] and not requests[1] then
    return
  end
  read_order(s)
  if s.order.others == others and redis.call('ZCOUNT', s.queue, '0', '(1400000000000000') == #flows then
    s.policy = s.policy .. 'o'
    return
  end
  flows[#flows + 1] = 'order'
  write(flows, 'HDEL', s.meta)
  rebuild_order(s, requests)
end
