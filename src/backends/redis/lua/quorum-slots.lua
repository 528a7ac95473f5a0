-- Fragment: taking slots. After it, `used` has the slots that are held, and nothing was written but what `occupy` is
-- called for; `finish` writes what the next call must know, where anything was.
local limit, ttl = ARGV[1] * 1.0, ARGV[2] * 1000.0
local expiry = format('%.0f', now + ttl)
local used, count = {}, 0
local members = call('ZRANGE', slots, '0', '-1')
for i = 1, #members do
  used[members[i] * 1.0] = true
  count = count + 1
end

local function release(ticket)
  for slot in gmatch(ticket.slots, '%d+') do
    used[slot * 1.0] = nil
    count = count - 1
  end
  clear(ticket)
end

local function occupy(ticket, chosen)
  local texts = {}
  for i = 1, #chosen do
    local slot = format('%d', chosen[i])
    texts[i] = slot
    used[chosen[i]] = true
    count = count + 1
    call('ZADD', slots, expiry, slot)
    call('HSET', meta, slot, ticket.id)
  end
  ticket.slots = table.concat(texts, ',')
  local rest = format(' %.0f ', ticket.attempt) .. ticket.granted .. ' ' .. ticket.label
  call('HSET', meta, ticket.id, ticket.slots .. ' ' .. ticket.token .. rest)
end

local function next_token(wanted)
  last = math.max(last + 1, now, wanted)
  return format('%.0f', last)
end

local function describe(ticket)
  return ticket.slots .. ' ' .. ticket.token .. ' ' .. format('%.0f', ticket.attempt)
end

-- Keys live as long as the last ticket, and `meta` a day longer. `sets`: see quorum-set.
local function finish(sets)
  call('HSET', meta, 'last', format('%.0f', last), 'limit', ARGV[1], 'sets', sets)
  local top = call('ZRANGE', slots, '-1', '-1', 'WITHSCORES')
  local life = 0
  if top[2] then
    life = math.ceil((top[2] + GRACE - now) / 1000)
    call('PEXPIRE', slots, format('%.0f', life))
  end
  call('PEXPIRE', meta, format('%.0f', life + DAY))
end
