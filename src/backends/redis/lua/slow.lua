-- Fragment of make_slow: one semaphore where the usual case does not apply, from what the last call knew to what the next one must.
--
-- `tickets`, a sorted set: a ticket's id -> its expiry (microseconds); '.' -> 9e15, so that the key stays; ranges of free slots, '7' or
-- '7-9', below zero by their first, which are below those in use. `queue`, a sorted set: a request's id -> its place; '@' and a
-- client -> until when its requests count, below zero by 9e15.
-- `meta`, a hash: a ticket's id -> 'slots token label', its slots written as 0,3,7-9; a waiting request's id -> 'ttl;label';
-- 'layout' -> 2; 'state' -> 'last limit' and, where somebody waits, ';waiting', or, unless all permits are held by tickets of one each on
-- the lowest slots, ';stored top held gaps count waiting'. last: the last token or place, 16 digits. limit: that of the last caller.
-- stored: the one that setLimit stored, if any. top: slots 0 .. top-1 are held or free ranges. held: permits. gaps: free ranges. count: tickets.
--
-- A semaphore's part of a reply ends in '/limit/grants/' where there is something to say: the limit is 's' and the stored one where it
-- is not the caller's, or 'o' and that of another caller; grants are other requests of the caller that were served, 'id slots token
-- expiry;…'.
--
-- Functions take all that they need as parameters: each local that one captures costs as much as a Redis call.
local channels, client = string.match(inbox, '^(.*:)(.*)$')

local function text_of(number)
  return string.format('%d', number)
end

local function range_text(first, final)
  return first == final and string.format('%d', first) or string.format('%d-%d', first, final)
end

local function each_range(slots, visit)
  for first, final in string.gmatch(slots, '(%d+)%-?(%d*)') do
    visit(first + 0, (final == '' and first or final) + 0)
  end
end

-- What the last call knew. False, where its state is missing, was written by somebody else, or is not what the keys hold.
local function read_state(s, others)
  local last, limit, rest = string.match(s.state or '', '^(%d+) (%d+);?(.*)$')
  if not last or #last ~= 16 then
    return false
  end
  s.last, s.configured = last + 0, limit
  local waiting = rest == '' and 0 or tonumber(rest)
  if waiting then
    s.count, s.held, s.top, s.waiting, s.short = others, others, others, waiting, true
    return others >= 0 and redis.call('HLEN', s.meta) == others + waiting + 2
  end
  local stored, top, held, gaps, count, queued = string.match(rest, '^(%d*) (%d+) (%d+) (%d+) (%d+) (%d+)$')
  if not stored then
    return false
  end
  s.stored, s.top, s.held, s.gaps, s.count, s.waiting = stored, top + 0, held + 0, gaps + 0, count + 0, queued + 0
  return others == s.count + s.gaps
end

local function free_range(s, first, final)
  local range = s.spare[#s.spare]
  s.held = s.held - (final - first + 1)
  if range and range[2] + 1 == first then
    range[2] = final
  else
    s.spare[#s.spare + 1] = { first, final }
  end
end

-- Gives back those of the ids that are tickets, by their records; which ones, and how many.
local function drop(s, ids, records)
  local gone, fields, dropped = {}, {}, 0
  for i = 1, #ids do
    local id = ids[i]
    local record = records[i] or ''
    local slot = string.match(record, '^%d+ ')
    local slots = slot or string.match(record, '^([%d,-]+) %d+ ')
    if slots and not gone[id] then
      dropped = dropped + 1
      gone[id], fields[dropped] = true, id
      if slot then
        free_range(s, slot + 0, slot + 0)
      else
        each_range(slots, function(first, final)
          free_range(s, first, final)
        end)
      end
    end
  end
  if dropped > 0 then
    redis.call('ZREM', s.tickets, unpack(fields))
    s.count = s.count - dropped
    for i = 1, s.short and 0 or dropped do
      fields[#fields + 1] = string.match(fields[i], '~.*$')
    end
    redis.call('HDEL', s.meta, unpack(fields))
  end
  return gone, dropped
end

-- include: lost
-- A semaphore as the call finds it, without what has expired. `limit`: the caller's, 0 where it does not know it. `others`: the members of
-- tickets without '.'.
local function open(tickets, meta, queue, limit, others, state)
  local s = {
    tickets = tickets, meta = meta, queue = queue, own = limit, state = state, short = false, adds = {}, fields = {}, spare = {},
    last = 0, top = 0, held = 0, gaps = 0, count = 0, waiting = 0, configured = '', stored = '', told = '', before = 0,
  }
  if not others then
    s.state, others = redis.call('HGET', meta, 'state'), redis.call('ZCARD', tickets) - 1
  end
  if not read_state(s, others) then
    recount(s)
  end
  s.before = s.last
  local size = s.count > 0 and 100 or 0
  while size == 100 do
    local ids = redis.call('ZRANGEBYSCORE', tickets, '0', now_text, 'LIMIT', '0', '100')
    size = #ids
    if size > 0 then
      drop(s, ids, redis.call('HMGET', meta, unpack(ids)))
    end
  end
  if limit == '0' then
    s.own = s.configured == '' and '1' or s.configured
  end
  s.limit = (s.stored == '' and s.own or s.stored) + 0
  if s.stored ~= '' then
    s.told = s.stored ~= s.own and 's' .. s.stored or ''
  elseif s.configured ~= '' and s.configured ~= s.own and s.count + s.waiting > 0 then
    s.told = 'o' .. s.configured
  end
  return s
end

-- Whether one of the ids, which has no record, is a ticket: an old `meta` was restored alone, and counts as many as there are. Nobody could
-- give that ticket back, and the permits of others would seem to be taken until it expires. `known`: those that have a record.
local function lacks_record(s, ids, known)
  for i = 1, #ids do
    if not known[ids[i]] and redis.call('ZSCORE', s.tickets, ids[i]) then
      return true
    end
  end
end

-- Lua's stack carries no more than a few thousand arguments.
local function write(list, command, key)
  for first = 1, #list, 4000 do
    redis.call(command, key, unpack(list, first, math.min(first + 3999, #list)))
  end
end

-- A ticket, new or not, with its expiry.
local function add_ticket(s, id, expires)
  local adds = s.adds
  local size = #adds
  adds[size + 1], adds[size + 2] = string.format('%d', expires), id
  s.ends = math.max(s.ends or 0, expires)
end

local function add_field(s, field, value)
  local fields = s.fields
  local size = #fields
  fields[size + 1], fields[size + 2] = field, value
end
