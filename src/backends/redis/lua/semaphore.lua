-- Fragment of the slow paths: one semaphore, as the call finds it. All keys share a hash tag.
--
-- tickets   sorted set: a ticket's id -> its expiry; '.' -> NEVER, which keeps the key
-- info      hash: a ticket's id -> 'slots token label', its slots as in 0,3,7-9, and behind that
--           'group charged' where it has a group or costs, see gcra.lua; '~' and the first
--           id of an adopted ticket -> its id now; 'layout' -> LAYOUT; 'state' -> see close.lua
-- slots     sorted set: a range of free slots, '7' or '7-9' -> its first, below 'top' of the state
-- requests  hash: the id of a request that waits -> 'arrival ttl label', and behind that its
--           'priority weight group costs' where it has options
-- queue     sorted set: ids of the requests without options -> arrival
-- clients   sorted set: a client that waits -> the end of its lease; '.': see waiter-leases.lua
-- flows:9 … flows:0, flow:…   sorted sets, see fair-order.lua
-- groups    hash: a group -> how many permits it holds; with a cap, see caps.lua
--
-- Times are microseconds. `run` has the terms that several semaphores of a call share: inbox, now
-- (text), limit (text; '0': not known).
-- include: keys records gcra fair-order lost-keys serve-queue ended-tickets

local function read_state(s)
  local state, known = redis.call('HGET', s.info, 'state'), {}
  local last, limit, more = string.match(state or '', '^(%d+) (%d+)(.*)$')
  s.count = math.max(redis.call('ZCARD', s.tickets) - 1, 0)
  read_rules(s, more or '', s.count)
  for word, value in string.gmatch(more or '', '(%w+):?(%S*)') do
    known[word] = value
  end
  for priority, time in string.gmatch(known.queue and more or '', ' (%d):(%d+)') do
    s.times[priority + 0] = time + 0
  end
  -- Numbers have 16 digits, always.
  s.state, s.last, s.configured, s.stored = last and state, (last or 1e15) + 0, limit or '', known.stored or ''
  s.waiting, s.held = redis.call('HLEN', s.requests), (known.held or s.count) + 0
  s.top = (known.top or s.held) + 0
  s.waits, s.parks = known.queue, tonumber(known.parked)
end

-- A semaphore as the call finds it.
local function open(tickets, info, run)
  local base = key_of(tickets, '')
  local s = {
    tickets = tickets, info = info, slots = base .. 'slots', requests = base .. 'requests', queue = base .. 'queue',
    clients = base .. 'clients', groups = base .. 'groups',
    run = run, now = run.now + 0, own = run.limit, client = string.match(run.inbox, '^.*:(.*)$'),
    max_waiting = math.huge, times = {}, touched = {}, adds = {}, fields = {}, grants = {}, verdicts = {},
  }
  read_state(s)
  rebuild_lost_keys(s)
  if s.cap_is_over then
    use_cap(s, nil)
  end
  s.own = s.own ~= '0' and s.own or s.configured == '' and '1' or s.configured
  s.limit = (s.stored == '' and s.own or s.stored) + 0
  if s.count > 0 then
    purge(s)
  end
  local is_other = s.configured ~= '' and s.configured ~= s.own and s.count + s.waiting > 0
  s.told = is_other and OTHER .. s.configured or ''
  return s
end
