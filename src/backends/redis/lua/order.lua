-- Fragment of the slow paths: who is next, by priority, then fair shares, then arrival.
-- A flow is what has one priority and one group; its requests wait by arrival, and its first is its
-- head. Heads alone have a tag: virtual time when the request becomes the head, and its cost, a
-- million for each permit, divided by the weight. The head with the lowest tag is next, and its
-- grant moves the virtual time of its priority to that tag: self-clocked fair queueing (Golestani,
-- INFOCOM 1994). A head that leaves without a grant hands its start, the tag without the cost, to
-- the next of its flow, and nothing is kept of a flow that does not wait.
--
-- `s.times` has the virtual time of each priority in which a flow waits; it is empty while requests
-- without options wait alone: arrival is their order. Numbers stay exact enough for longer than
-- a queue lasts: 1e12 permits.
-- include: keys records
local function heads_of(s, priority)
  return key_of(s.tickets, 'flows:' .. text_of(priority))
end

local function flow_of(s, priority, group)
  return priority == 0 and group == '' and s.queue or key_of(s.tickets, 'flow:' .. text_of(priority) .. ':' .. group)
end

local function request_of(s, id, record)
  local place, life, label, priority, weight, group =
    string.match(record or '', '^(%d*) (%d+) (%S*) ?(%d?) ?(%d*) ?(%S*)$')
  if not place then
    return nil
  end
  local client, permits = parts_of(id)
  local r = { id = id, place = place, life = life + 0, label = label, client = client, permits = permits }
  r.priority, r.weight, r.group = (tonumber(priority) or 0), weight == '' and '1' or weight, group
  r.cost = math.floor(permits * 1000000 / r.weight)
  r.flow, r.heads = flow_of(s, r.priority, group), heads_of(s, r.priority)
  r.is_plain = r.flow == s.queue
  return r
end

-- The first of a flow. False where the keys disagree about it.
local function first_of(s, flow)
  local found = redis.call('ZRANGE', flow, '0', '0')
  return found[1] and (request_of(s, found[1], redis.call('HGET', s.requests, found[1])) or false)
end

-- The name of a flow among the heads of its priority: where tags are the same, arrival decides.
local function as_head(r)
  return r.place .. ' ' .. r.group
end

local function lead(s, r, start)
  s.times[r.priority], s.touched[r.heads] = s.times[r.priority] or 0, true
  redis.call('ZADD', r.heads, text_of(start + r.cost), as_head(r))
end

-- From here on there is an order beside that of arrival.
local function begin_order(s)
  local head = not next(s.times) and first_of(s, s.queue)
  if head then
    lead(s, head, 0)
  end
end

-- Takes its place in its flow: before the head, where it was dropped and came earlier.
local function join(s, r)
  if not r.is_plain then
    begin_order(s)
  end
  local is_ordered = not r.is_plain or next(s.times)
  local head = is_ordered and first_of(s, r.flow)
  redis.call('ZADD', r.flow, r.place, r.id)
  s.touched[r.flow] = true
  if not is_ordered then
    return
  elseif not head then
    lead(s, r, s.times[r.priority] or 0)
  elseif r.place .. r.id < head.place .. head.id then
    local tag = redis.call('ZSCORE', r.heads, as_head(head)) or 0
    redis.call('ZREM', r.heads, as_head(head))
    lead(s, r, tag - head.cost)
  end
end

-- Leaves its flow, as its head or not.
local function leave_flow(s, r, is_granted)
  redis.call('ZREM', r.flow, r.id)
  local time = s.times[r.priority]
  local tag = time and redis.call('ZSCORE', r.heads, as_head(r))
  if not tag then
    return
  end
  local start = is_granted and math.max(time, tag + 0) or tag - r.cost
  s.times[r.priority] = is_granted and start or time
  redis.call('ZREM', r.heads, as_head(r))
  local follower = first_of(s, r.flow)
  if follower then
    lead(s, follower, start)
  elseif redis.call('ZCARD', r.heads) == 0 then
    s.times[r.priority] = nil
  end
end

-- The next of all. Nil where none is left, false where the keys disagree.
local function first(s)
  for priority = 9, 0, -1 do
    if s.times[priority] then
      local found = redis.call('ZRANGE', heads_of(s, priority), '0', '0')
      local r = first_of(s, flow_of(s, priority, string.match(found[1] or ' ', ' (.*)$')))
      return r and as_head(r) == found[1] and r or false
    end
  end
  return first_of(s, s.queue)
end

-- Where the plain flow is the only one, at virtual time, the next order begins as this one ends.
local function settle_order(s)
  local heads, time = heads_of(s, 0), s.times[0]
  if not time or next(s.times, next(s.times)) or redis.call('ZCARD', heads) > 1 then
    return
  end
  local head = first_of(s, s.queue)
  local tag = head and redis.call('ZSCORE', heads, as_head(head))
  if tag and tag - head.cost == time then
    redis.call('DEL', heads)
    s.times = {}
  end
end
