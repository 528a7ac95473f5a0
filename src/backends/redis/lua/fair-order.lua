-- Fragment of the slow paths: which request is next, by priority, then fair shares, then arrival.
-- A flow has the requests of one priority and one group by arrival, and its first is its head.
-- Heads alone have a tag: virtual time when the request becomes the head + 1e6 × permits / weight,
-- which is its cost. The head with the lowest tag is next, and its grant moves
-- the virtual time of its priority to that tag: self-clocked fair queueing (Golestani, INFOCOM
-- 1994). A head that leaves without a grant hands its start, the tag without the cost, to the next
-- of its flow, and nothing is kept of a flow that does not wait.
--
-- `s.times` has the virtual time of each priority in which a flow waits; it is empty while requests
-- without options wait alone: arrival is their order. Numbers stay exact enough for longer than
-- a queue lasts: 1e12 permits. With a cap there is always an order.
-- include: lazy-tables keys records recount caps rate
-- lazy table: order
function order.heads_of(s, priority)
  return key_of(s.tickets, 'flows:' .. text_of(priority))
end

function order.flow_of(s, priority, group)
  return priority == 0 and group == '' and s.queue or key_of(s.tickets, 'flow:' .. text_of(priority) .. ':' .. group)
end

-- A request with its flow, the heads of its priority, and its cost.
local function with_flow(s, r)
  if r and not r.flow then
    r.flow, r.heads = order.flow_of(s, r.priority, r.group), order.heads_of(s, r.priority)
    r.cost = math.floor(r.permits * 1000000 / r.weight)
  end
  return r or false
end

-- The first request of a flow. False if the keys disagree about it. `s.is_torn`: a flow was lost,
-- or has the id of a request that does not wait.
function order.first_of(s, flow)
  local found = redis.call('ZRANGE', flow, '0', '0')
  local r = found[1] and with_flow(s, request_of(found[1], redis.call('HGET', s.requests, found[1])))
  s.is_torn = s.is_torn or found[1] and not r
  return r
end

-- The name of a flow among the heads of its priority: between equal tags arrival decides.
function order.as_head(r)
  return r.arrival .. ' ' .. r.group
end

-- The name of a flow in `capped`.
local function as_capped(r)
  return text_of(r.priority) .. ' ' .. r.group
end

-- The first request of a flow becomes its head, if its group has room for it.
local function tag_head(s, r, start)
  s.times[r.priority] = s.times[r.priority] or 0
  if not s.cap or caps.has_room(s, r) then
    s.touched[r.heads] = true
    redis.call('ZADD', r.heads, text_of(start + r.cost), order.as_head(r))
  else
    s.capped, s.touched[s.capped_flows] = true, true
    redis.call('ZADD', s.capped_flows, text_of(r.priority), as_capped(r))
  end
end

-- A flow whose group may have room again. `name`: see as_capped.
local function tag_again(s, name)
  local priority, group = string.match(name, '^(%d) (.*)$')
  local capped = redis.call('ZREM', s.capped_flows, name) == 1
  local r = capped and order.first_of(s, order.flow_of(s, priority + 0, group))
  if r then
    tag_head(s, r, s.times[r.priority] or 0)
  end
  s.is_torn = s.is_torn or capped and not r
end

-- Permits of the group came back.
function order.unblock_group(s, group)
  for priority in pairs(s.times) do
    tag_again(s, text_of(priority) .. ' ' .. group)
  end
end

function order.unblock_all(s)
  for _, name in ipairs(s.capped and redis.call('ZRANGE', s.capped_flows, '0', '-1') or {}) do
    tag_again(s, name)
  end
end

-- Whether anything beside arrival decides which request is next, or when.
function order.counts(s)
  return s.parks or next(s.times) or next(s.meters) and rates.has_budget(s)
end

-- Begins an order beside that of arrival.
local function begin_order(s)
  local head = not next(s.times) and order.first_of(s, s.queue)
  if head then
    tag_head(s, head, 0)
  end
end

-- The cap that counts from here on; nil: none.
function order.use_cap(s, cap, till)
  local before = s.cap
  s.cap, s.cap_till = cap, till
  if cap and not before then
    recount(s)
    begin_order(s)
  elseif before and not cap then
    redis.call('DEL', s.groups)
  end
  if before and (not cap or cap > before) then
    order.unblock_all(s)
  end
end

-- A request joins its flow: before the head, if it was dropped and came earlier.
function order.join(s, r)
  with_flow(s, r)
  local is_plain = r.flow == s.queue and not s.cap
  if not is_plain then
    begin_order(s)
  end
  local is_ordered = not is_plain or next(s.times)
  local head = is_ordered and order.first_of(s, r.flow)
  -- An id that is in the flow already is left from requests that were lost.
  s.is_torn = redis.call('ZADD', r.flow, r.arrival, r.id) == 0 or s.is_torn
  s.touched[r.flow] = true
  if not is_ordered then
    return
  elseif not head then
    tag_head(s, r, s.times[r.priority] or 0)
  elseif r.arrival .. r.id < head.arrival .. head.id then
    local tag = redis.call('ZSCORE', r.heads, order.as_head(head))
    redis.call('ZREM', r.heads, order.as_head(head))
    redis.call('ZREM', s.capped_flows, as_capped(r))
    tag_head(s, r, tag and tag - head.cost or s.times[r.priority] or 0)
  end
end

local function has_capped(s, priority)
  return s.capped and redis.call('ZCOUNT', s.capped_flows, text_of(priority), text_of(priority)) > 0
end

-- The priorities that have a head.
function order.led_priorities(s)
  local led = ''
  for priority = 9, 0, -1 do
    if s.times[priority] and redis.call('EXISTS', order.heads_of(s, priority)) == 1 then
      led = led .. text_of(priority)
    end
  end
  return led
end

-- Leaves its flow, as its head or not. Whether it was in it.
function order.leave(s, r, is_granted)
  with_flow(s, r)
  if redis.call('ZREM', r.flow, r.id) == 0 then
    return false
  end
  local time, tag = s.times[r.priority], redis.call('ZSCORE', r.heads, order.as_head(r))
  if not time or not tag and not (s.capped and redis.call('ZREM', s.capped_flows, as_capped(r)) == 1) then
    return true
  end
  local start = not tag and time or is_granted and math.max(time, tag + 0) or tag - r.cost
  s.times[r.priority] = is_granted and start or time
  redis.call('ZREM', r.heads, order.as_head(r))
  local follower = order.first_of(s, r.flow)
  if follower then
    tag_head(s, follower, start)
  elseif redis.call('ZCARD', r.heads) == 0 and not has_capped(s, r.priority) then
    s.times[r.priority] = nil
  end
  return not s.is_torn
end

-- The first head of a priority. A head ends if its group is at the cap: the cap has shrunk, or a
-- grant of another priority has filled the group.
local function first_head(s, priority)
  local heads, r = order.heads_of(s, priority), nil
  repeat
    local found = redis.call('ZRANGE', heads, '0', '0')
    if not found[1] and has_capped(s, priority) then
      return nil
    end
    r = order.first_of(s, order.flow_of(s, priority, string.match(found[1] or ' ', ' (.*)$')))
    if not r or order.as_head(r) ~= found[1] then
      return false
    elseif not s.cap or caps.has_room(s, r) then
      return r
    end
    redis.call('ZREM', heads, found[1])
    tag_head(s, r, 0)
  until false
end

-- The next request. Nil if none is left, false if the keys disagree.
function order.first(s)
  for priority = 9, 0, -1 do
    if s.times[priority] then
      local r = first_head(s, priority)
      if r ~= nil then
        return r
      end
    end
  end
  if next(s.times) then
    return nil
  end
  return order.first_of(s, s.queue)
end

-- Ends the order if the plain flow alone waits, at virtual time: the next order would begin alike.
function order.end_if_plain(s)
  local heads, time = order.heads_of(s, 0), s.times[0]
  if not time or s.cap or next(s.times, next(s.times)) or redis.call('ZCARD', heads) > 1 then
    return
  end
  local head = order.first_of(s, s.queue)
  local tag = head and redis.call('ZSCORE', heads, order.as_head(head))
  if tag and tag - head.cost == time then
    redis.call('DEL', heads)
    s.times = {}
  end
end
