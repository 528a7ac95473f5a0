-- Fragment of the slow paths: requests come and leave, and permits go to the first waiting
-- requests for as long as they last. Requests of dead processes are dropped; a request for more
-- than a limit that has since shrunk waits aside; any other that does not fit blocks those behind
-- it, so that small requests cannot starve it.
-- include: grant notify fair-order lost-keys

-- With its lease all requests of a client count. `s.arriving`: the client, once a new request of it
-- has joined the queue.
local function is_alive(s, client)
  return client == s.arriving or (redis.call('ZSCORE', s.clients, client) or 0) + 0 > s.now
end

-- `s.moved`: the first request may not know that it is the first.
local function leave_queue(s, r, is_granted)
  redis.call('HDEL', s.requests, r.id)
  s.waiting, s.moved = s.waiting - 1, true
  leave_flow(s, r, is_granted)
end

-- If leases are over, drops the requests of dead clients, so that the others can be counted. The
-- requests that a caller left long ago are dead, too, unless it asks for them again.
local function sweep(s)
  local is_over = redis.call('ZREMRANGEBYSCORE', s.clients, '-inf', text_of(s.now)) > 0
  for _, r in ipairs(is_over and requests_of(s) or {}) do
    if not is_alive(s, r.client) then
      leave_queue(s, r)
    end
  end
end

-- Grants a waiting request. Of a ticket that the call does not ask for the client hears by the
-- reply to its own call, or by a message. The ticket comes back unless its client claims it within
-- 5 s.
local function give(s, r)
  if s.verdicts[r.id] then
    s.verdicts[r.id] = grant(s, r, s.run.label, s.run.ttl)
    return
  end
  local life = math.min(r.life, CLAIM_TIME_US)
  local line = r.id .. ' ' .. grant(s, r, r.label, life) .. ' ' .. text_of(s.now + life)
  if r.client == s.client then
    add(s.grants, line)
  else
    tell(s.run.inbox, s.tickets, r.client, line)
  end
end

-- `s.turn`: the first that does not fit, if the rate or a budget alone holds it back.
local function serve(s)
  -- Without a turn, at which it could be dropped, a request waits aside, or at the cap of its
  -- group.
  if s.waiting > 0 and (s.parks or s.cap or s.waiting >= s.max_waiting) then
    sweep(s)
  end
  if s.parks and s.parks <= s.limit then
    rejoin_all(s)
  end
  s.turn = nil
  while s.is_torn or s.waiting > 0 and s.held < s.limit do
    local r = next_request(s)
    if s.is_torn then
      rebuild_queue(s)
    elseif not r then
      return
    elseif not has_room(s, r) then
      -- The cap has shrunk, or a grant of another priority has filled the group.
      tag_head(s, r, 0)
    elseif not is_alive(s, r.client) then
      leave_queue(s, r)
    elseif r.permits > s.limit then
      -- It waits aside, in no flow, until the limit has grown.
      leave_flow(s, r)
      s.parks = math.min(s.parks or r.permits, r.permits)
    elseif not fits(s, r) then
      s.turn = s.held + r.permits <= s.limit and r
      return
    else
      give(s, r)
      leave_queue(s, r, true)
    end
  end
end
