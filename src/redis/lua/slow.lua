-- Fragment of make_slow: one semaphore where the usual case does not apply, from what the last call knew to what the next one must.
--
-- `tickets`, a sorted set: a ticket's id -> its expiry (microseconds); '.' -> 9e15, so that the key stays; ranges of free slots, '7' or
-- '7-9', below zero by their first, which are below those in use. `queue`, a sorted set: a request's id -> its place; '@' and a
-- client -> until when its requests count, below zero by LEASES.
-- `meta`, a hash: a ticket's id -> 'slots token label', its slots written as 0,3,7-9; a waiting request's id -> 'ttl;label';
-- 'layout' -> 2; 'state' -> 'last limit' and, unless all permits are held by tickets of one each on the lowest slots and nobody waits,
-- ';stored top held gaps count waiting'. last: the last token or place, 16 digits. limit: that of the last caller. stored: the one that
-- setLimit stored, if any. top: slots 0 .. top-1 are held or free ranges. held: permits. gaps: free ranges. count: tickets.
--
-- A semaphore's part of a reply ends in '/limit/grants' where there is something to say: the limit is 's' and the stored one where it
-- is not the caller's, or 'o' and that of another caller; grants are other requests of the caller that were served, 'id slots token
-- expiry;…'.
--
-- The functions take all that they need as parameters: each local that a function captures costs as much as a Redis call.
local S = {
  now = now_text + 0, now_text = now_text, channels = channels, client = client,
  last = 0, top = 0, held = 0, gaps = 0, count = 0, waiting = 0, configured = '', stored = '', told = '',
  LEASES = 9000000000000000.0, GAPS = 33554432.0,
  -- How long a granted ticket lives until its waiter claims it, and a process's requests without a sign of life from it (microseconds).
  CLAIM_TIME = 5000000, WAITER_LEASE = 5000000,
}
S.__index = S

-- What the last call knew. Nothing, where its state is missing or was written by somebody else.
function S.read_state(s)
  local state = redis.call('HGET', s.meta, 'state')
  local members = redis.call('ZCARD', s.tickets)
  local last, limit, rest = string.match(state or '', '^(%d+) (%d+)(.*)$')
  if not last or #last ~= 16 then
    return false
  end
  s.last, s.configured = last + 0, limit
  if rest == '' then
    s.count = members - 1
    s.held, s.top = s.count, s.count
    return s.count >= 0 and (s.count == 0 or redis.call('HLEN', s.meta) == s.count + 2)
  end
  local stored, top, held, gaps, count, waiting = string.match(rest, '^;(%d*) (%d+) (%d+) (%d+) (%d+) (%d+)$')
  if not stored then
    return false
  end
  s.stored, s.top, s.held, s.gaps = stored, top + 0, held + 0, gaps + 0
  s.count, s.waiting = count + 0, waiting + 0
  return members == s.count + s.gaps + 1
end

-- A semaphore as the call finds it, without what has expired. `limit`: the caller's; 0 where it does not know it.
function S.open(slow, tickets, meta, queue, limit)
  local s = setmetatable({ tickets = tickets, meta = meta, queue = queue, own = limit, spare = {}, adds = {}, fields = {} }, slow)
  if not s:read_state() then
    s:recount()
  end
  if s.own == '0' then
    s.own = s.configured == '' and '1' or s.configured
  end
  s:expire()
  s.limit = s.own + 0
  if s.stored ~= '' then
    s.limit, s.told = s.stored + 0, s.stored ~= s.own and 's' .. s.stored or ''
  elseif s.configured ~= s.own and s.count + s.waiting > 0 then
    s.told = 'o' .. s.configured
  end
  return s
end

-- The keys do not say the same: one was deleted, evicted, restored alone or changed by hand. All is counted again; a ticket counts only
-- with its record, and the other way round.
function S.recount(s)
  local layout = redis.call('HGET', s.meta, 'layout')
  if layout and layout ~= '2' then
    error('REDSEM_LAYOUT ' .. layout)
  end
  local live, used, ids = {}, {}, redis.call('ZRANGEBYSCORE', s.tickets, '0', '(9000000000000000')
  for i = 1, #ids do
    live[ids[i]] = true
  end
  s.top, s.held, s.count, s.gaps, s.spare, s.recounted = 0, 0, 0, 0, {}, true
  local fields = redis.call('HGETALL', s.meta)
  s.absent = #fields == 0 and #ids == 0
  s.stored = redis.call('HGET', s.meta, 'stored') or ''
  for i = 1, #fields, 2 do
    s:recount_field(fields[i], fields[i + 1], live, used)
  end
  for id in pairs(live) do
    redis.call('ZREM', s.tickets, id)
  end
  redis.call('ZREMRANGEBYSCORE', s.tickets, '-inf', '(0')
  s:recount_gaps(used)
  s.waiting = redis.call('ZCOUNT', s.queue, '0', '+inf')
  local newest = s.waiting > 0 and redis.call('ZRANGE', s.queue, -1, -1, 'WITHSCORES')[2] or 0
  -- Written with 16 digits, always.
  s.last = math.max(s.last, newest + 0, 1000000000000000.0)
end

function S.recount_field(s, id, value, live, used)
  local slots, token = string.match(value, '^([%d,-]+) (%d+) ')
  if slots and live[id] then
    live[id] = nil
    s.count, s.last = s.count + 1, math.max(s.last, token + 0)
    s.each_range(slots, function(first, final)
      for slot = first, final do
        used[slot] = true
      end
      s.held, s.top = s.held + final - first + 1, math.max(s.top, final + 1)
    end)
  elseif string.sub(id, 1, 1) == '~' then
    if not redis.call('ZSCORE', s.tickets, value) then
      redis.call('HDEL', s.meta, id)
    end
  elseif string.find(id, '.', 1, true) and not redis.call('ZSCORE', s.queue, id) then
    redis.call('HDEL', s.meta, id)
  end
end

function S.recount_gaps(s, used)
  local first
  for slot = 0, s.top do
    if slot < s.top and not used[slot] then
      first = first or slot
    elseif first then
      s.spare[#s.spare + 1] = { first, slot - 1 }
      first = nil
    end
  end
end

function S.each_range(slots, visit)
  for first, final in string.gmatch(slots, '(%d+)%-?(%d*)') do
    visit(first + 0, (final == '' and first or final) + 0)
  end
end

-- Drops what has expired.
function S.expire(s)
  local size = s.count > 0 and 100 or 0
  while size == 100 do
    local ids = redis.call('ZRANGEBYSCORE', s.tickets, '0', s.now_text, 'LIMIT', '0', '100')
    size = #ids
    if size > 0 then
      s:drop(ids, redis.call('HMGET', s.meta, unpack(ids)))
    end
  end
end

-- Gives back those of the ids that are tickets, by their records; which ones, and how many.
function S.drop(s, ids, records)
  local gone, fields = {}, {}
  for i = 1, #ids do
    local slots = string.match(records[i] or '', '^([%d,-]+) %d+ ')
    if slots and not gone[ids[i]] then
      gone[ids[i]] = true
      fields[#fields + 1] = ids[i]
      s.each_range(slots, function(first, final)
        s.spare[#s.spare + 1] = { first, final }
        s.held = s.held - (final - first + 1)
      end)
    end
  end
  local dropped = #fields
  if dropped > 0 then
    redis.call('ZREM', s.tickets, unpack(fields))
    s.count = s.count - dropped
    for i = 1, dropped do
      fields[#fields + 1] = string.match(fields[i], '~.*$')
    end
    redis.call('HDEL', s.meta, unpack(fields))
  end
  return gone, dropped
end

-- The end of a semaphore's part of the call: writes what it gave, and what the next call must know. `waits`: one of its requests does.
function S.close(s, body, waits)
  if s.absent and #s.adds + #s.fields + s.waiting == 0 then
    return body
  end
  s:settle()
  s:write_state()
  if s.waiting == 0 and s.waited then
    redis.call('DEL', s.queue)
  end
  if s.ends or s.recounted then
    s:keep()
  end
  local own = ''
  if s.grants then
    s:publish()
    own = table.concat(s.grants[s.client] or {}, ';')
  end
  if s.told == '' and own == '' and not waits then
    return body
  end
  return body .. '/' .. s.told .. '/' .. own .. '/' .. (waits and s:nearest() or '')
end

function S.write_state(s)
  if s.recounted then
    s.add(s.adds, '9000000000000000', '.')
    s.add(s.fields, 'layout', '2')
  end
  s.write(s.adds, 'ZADD', s.tickets)
  local simple = s.stored == '' and s.gaps == 0 and s.waiting == 0 and s.held == s.count
  local state = string.format('%d ', s.last) .. s.own
  s.add(s.fields, 'state', simple and state or s:full_state(state))
  s.write(s.fields, 'HSET', s.meta)
  -- Adopted and revoked tickets have fields, too: then the number of fields does not tell the number of tickets.
  if simple and redis.call('HLEN', s.meta) ~= s.count + 2 then
    redis.call('HSET', s.meta, 'state', s:full_state(state))
  end
end

function S.full_state(s, state)
  return state .. ';' .. s.stored .. string.format(' %d %d %d %d %d', s.top, s.held, s.gaps, s.count, s.waiting)
end

-- Keys live a day longer than the last ticket. Their expiry never moves back, and not at every call.
function S.keep(s)
  local needed = (s.ends and s.ends - s.now or 0) / 1000 + 43200000
  if s.recounted or redis.call('PTTL', s.tickets) < needed then
    local last = redis.call('ZREVRANGEBYSCORE', s.tickets, '(9000000000000000', '0', 'WITHSCORES', 'LIMIT', '0', '1')
    local life = math.ceil(math.max((last[2] or 0) - s.now, 0) / 1000) + 86400000
    redis.call('PEXPIRE', s.tickets, string.format('%d', life))
    redis.call('PEXPIRE', s.meta, string.format('%d', life))
  end
end

-- The records of the ids. A ticket without one: an old `meta` was restored alone, and counts as many as there are. Nobody could give that
-- ticket back, and the permits of others would seem to be taken until it expires.
function S.records(s, ids)
  local records = redis.call('HMGET', s.meta, unpack(ids))
  for i = 1, #ids do
    if not string.find(records[i] or '', ' ', 1, true) and redis.call('ZSCORE', s.tickets, ids[i]) then
      s:recount()
      return redis.call('HMGET', s.meta, unpack(ids))
    end
  end
  return records
end

function S.add(list, one, other)
  local size = #list
  list[size + 1], list[size + 2] = one, other
end

-- Lua's stack carries no more than a few thousand arguments.
function S.write(list, command, key)
  for first = 1, #list, 4000 do
    redis.call(command, key, unpack(list, first, math.min(first + 3999, #list)))
  end
end

-- When the next ticket expires.
function S.nearest(s)
  local found = redis.call('ZRANGEBYSCORE', s.tickets, '0', '(9000000000000000', 'WITHSCORES', 'LIMIT', '0', '1')
  return found[2] and string.format('%d', found[2]) or ''
end
