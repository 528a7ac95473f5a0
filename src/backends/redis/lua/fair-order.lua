-- Fragment of the slow paths: which request is next, by priority, then fair shares, then arrival.
-- A flow has the requests of one priority and one group by arrival, and its first is its head.
-- Heads alone have a tag: virtual time when the request becomes the head + 1e6 × permits / weight,
-- which is its cost. The head with the lowest tag is next, and its grant moves the virtual time of
-- its priority to that tag: self-clocked fair queueing (Golestani, INFOCOM 1994). A head that
-- leaves without a grant hands its start, the tag without the cost, to the next of its flow, and
-- nothing is kept of a flow that does not wait. The tag of a head that would take its group above
-- the cap is AT_CAP, behind all others, until a permit of the group comes back.
--
-- `s.times` has the virtual time of each priority in which a flow waits; it is empty in a queue
-- that has had requests without options alone: arrival is their order. Numbers stay exact enough
-- for longer than a queue lasts: 1e12 permits. With a cap there is always an order.
-- include: keys waiting-requests recount-slots caps gcra

-- The first request of a flow. `s.is_torn`: the keys disagree: a flow was lost, or has the id of a
-- request that does not wait.
local function first_of(s, flow)
  local id = redis.call('ZRANGE', flow, '0', '0')[1]
  local r = id and request_of(s, id, redis.call('HGET', s.requests, id))
  s.is_torn = s.is_torn or id and not r
  return r
end

-- The first request of a flow becomes its head.
local function tag_head(s, r, start)
  local tag = has_room(s, r) and text_of(start + r.cost) or AT_CAP
  s.times[r.priority], s.touched[r.heads] = s.times[r.priority] or 0, true
  redis.call('ZADD', r.heads, tag, r.head)
end

-- Permits of the group came back.
local function unblock_group(s, group)
  for priority, time in pairs(s.times) do
    local r = first_of(s, flow_of(s, priority, group))
    local tag = r and redis.call('ZSCORE', r.heads, r.head)
    if tag and tag + 0 >= AT_CAP then
      tag_head(s, r, time)
    end
  end
end

-- A request joins its flow: before the head, if it was dropped and came earlier. A request that is
-- in its flow stays there, and a head at the cap gets a tag if its group has room now.
local function join_flow(s, r)
  if r.flow ~= s.queue or s.cap or next(s.times) then
    -- With the first request besides arrival an order begins.
    local plain = not next(s.times) and first_of(s, s.queue)
    if plain then
      tag_head(s, plain, 0)
    end
    local head = first_of(s, r.flow)
    if not head or r.arrival .. r.id <= head.arrival .. head.id then
      local tag = head and redis.call('ZSCORE', r.heads, head.head)
      redis.call('ZREM', r.heads, head and head.head or '')
      tag_head(s, r, tag and tag + 0 < AT_CAP and tag - head.cost or s.times[r.priority] or 0)
    end
  end
  redis.call('ZADD', r.flow, r.arrival, r.id)
  s.touched[r.flow] = true
end

-- All requests join their flows, of whatever rule kept them from it until now.
local function rejoin_all(s)
  s.parks = nil
  for _, r in ipairs(requests_of(s)) do
    join_flow(s, r)
  end
end

-- The cap that counts from here on; nil: none.
local function use_cap(s, cap, till)
  local before = s.cap
  s.cap, s.cap_till = cap, till
  if not cap ~= not before then
    recount(s)
  end
  if not (before and cap and cap <= before) then
    rejoin_all(s)
  end
end

-- Leaves its flow, as its head or not.
local function leave_flow(s, r, is_granted)
  local is_lost, time = redis.call('ZREM', r.flow, r.id) == 0, s.times[r.priority]
  local tag = time and redis.call('ZSCORE', r.heads, r.head)
  if not tag then
    return
  end
  -- Without its flow no other request of it would become the head.
  s.is_torn = s.is_torn or is_lost
  local start = tag + 0 >= AT_CAP and time or is_granted and math.max(time, tag + 0) or tag - r.cost
  s.times[r.priority] = is_granted and start or time
  redis.call('ZREM', r.heads, r.head)
  local follower = first_of(s, r.flow)
  if follower then
    tag_head(s, follower, start)
  elseif redis.call('ZCARD', r.heads) == 0 then
    s.times[r.priority] = nil
  end
end

-- The next request, if any has its turn: the first head of the highest priority in which not all
-- groups are at the cap.
local function next_request(s)
  for priority = 9, 0, -1 do
    if s.times[priority] then
      local found = redis.call('ZRANGE', heads_of(s, priority), '0', '0', 'WITHSCORES')
      local r = first_of(s, flow_of(s, priority, string.match(found[1] or ' ', ' (.*)$')))
      s.is_torn = s.is_torn or not r or r.head ~= found[1]
      if s.is_torn or found[2] + 0 < AT_CAP then
        return not s.is_torn and r or nil
      end
    end
  end
  return not next(s.times) and first_of(s, s.queue) or nil
end
