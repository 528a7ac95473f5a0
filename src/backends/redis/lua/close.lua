-- Fragment of the slow paths: the end of a semaphore's part of the call writes its tickets and its
-- state, and makes its reply.
--
-- The state is 'last limit', the last token or arrival (16 digits) and the limit of the last
-- caller, and then a word for everything else that is in use, each behind a space. The first words
-- keep a call from the usual paths, except from the paths of a plain queue: 'queue' while requests
-- wait; 'parked:5', the fewest permits of a request for more than a limit that has shrunk;
-- 'held:7' permits, unless each ticket has one permit; 'stored:4', the limit of setLimit; and in a
-- queue '9:…' to '0:…', the virtual times of priorities, see fair-order.lua. The usual paths know
-- the other words: 'top:9', while permits are held: no slot from there on is in use, and below some
-- are free; 'rate:…' and 'budget:name,…', see gcra.lua; 'cap:…', see caps.lua.
--
-- The reply is 'now|semaphore|…', a semaphore being its verdicts, behind which
-- '/limit/grants/nearest' may follow. limit: 's' and the stored limit, or 'o' and the limit of
-- another caller if that is another. grants: other requests of the caller that were served,
-- 'id slots token expiry;…'. nearest: if the caller waits, when the next ticket expires, or '@' and
-- its turn, see ask-again.lua.
-- include: semaphore records slots gcra serve-queue fair-order

local function write_state(s)
  local parked = s.parks and ' parked:' .. text_of(s.parks) or ''
  local state = text_of(s.last) .. ' ' .. s.own .. (s.waiting > 0 and ' queue' .. parked or '')
  state = state .. (s.held == s.count and '' or ' held:' .. text_of(s.held))
  state = state .. (s.stored == '' and '' or ' stored:' .. s.stored)
  for priority = next(s.times) and 9 or -1, 0, -1 do
    state = state .. (s.times[priority] and string.format(' %d:%d', priority, s.times[priority]) or '')
  end
  state = state .. (s.top == s.held and '' or ' top:' .. text_of(s.top)) .. rules_text(s)
  if state ~= s.state then
    add(s.fields, 'state', state)
  end
  write(s.fields, 'HSET', s.info)
end

-- Keys live a day longer than the last ticket and the last meter. Their expiry never moves back,
-- and not at every call: everything written before ends half a day before them, or within
-- the time of a usual ticket.
local function renew(s)
  local ends = math.ceil(math.max((s.ends or 0) - s.now, 0) / 1000)
  local life = redis.call('PTTL', s.tickets)
  if life < ends + KEYS_LIFE_MS / 2 then
    life = ends + KEYS_LIFE_MS
    s.touched[s.tickets], s.touched[s.info], s.touched[s.slots] = true, true, true
  end
  s.touched[s.groups] = s.cap and true
  for key in pairs(s.touched) do
    redis.call('PEXPIRE', key, text_of(life))
  end
end

-- The client of the head may know a later time, or none: a reply names the time to its caller
-- alone.
-- The client's lease lasts somewhat longer than the time that it knows.
local function tell_turn(s)
  local r = s.waiting > 0 and next(s.meters) and next_request(s)
  if not r then
    return
  end
  local time, is_other = math.max(math.ceil(pay_time(s, r)), s.now), not s.asks or r.client ~= s.client
  local knows = is_other and (redis.call('ZSCORE', s.clients, r.client) or 0) - WAITER_LEASE_US or 0
  if s.turn and (not s.asks or s.moved and is_other) or knows > time + AFTER_TURN_US then
    tell(s.run.inbox, s.tickets, r.client, r.id .. ' at ' .. text_of(time))
  end
end

-- A call that asks adds the nearest time behind the last '/'.
local function close(s, body)
  serve(s)
  if s.waiting == 0 then
    redis.call('DEL', s.queue, s.requests, s.clients)
  end
  if not s.state and s.count + s.waiting == 0 and s.stored .. rules_text(s) == '' then
    return body
  end
  sink_top(s)
  if redis.call('EXISTS', s.tickets) == 0 then
    add(s.adds, 'NEVER', SIGN)
    add(s.fields, 'layout', 'LAYOUT')
  end
  write(s.adds, 'ZADD', s.tickets)
  write_state(s)
  renew(s)
  tell_turn(s)
  return body .. '/' .. (s.stored ~= '' and STORED .. s.stored or s.told) .. '/' .. table.concat(s.grants, ';') .. '/'
end
