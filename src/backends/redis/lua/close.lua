-- Fragment of make_slow: the end of a semaphore's part of the call, which writes what it gave, and what the next call must know.

local function write_state(s)
  local short = s.stored == '' and s.gaps == 0 and s.held == s.count
  local state = (s.last == now and now_text or text_of(s.last)) .. ' ' .. s.own
  local full = not short or not s.short
  if full then
    full = state .. ';' .. s.stored .. string.format(' %d %d %d %d %d', s.top, s.held, s.gaps, s.count, s.waiting)
  end
  if short then
    state = s.waiting > 0 and state .. ';' .. text_of(s.waiting) or state
  else
    state = full
  end
  if s.fields[1] or state ~= s.state then
    add_field(s, 'state', state)
    write(s.fields, 'HSET', s.meta)
  end
  -- Adopted and revoked tickets have fields, too: then the number of fields does not tell the number of tickets.
  if short and full and redis.call('HLEN', s.meta) ~= s.count + s.waiting + 2 then
    redis.call('HSET', s.meta, 'state', full)
  end
end

-- Keys live a day longer than the last ticket. Their expiry never moves back, and not at every call.
local function renew(s)
  if s.recounted or redis.call('PTTL', s.tickets) < ((s.ends or now) - now) / 1000 + 43200000 then
    local last = redis.call('ZREVRANGEBYSCORE', s.tickets, '(9000000000000000', '0', 'WITHSCORES', 'LIMIT', '0', '1')
    local life = text_of(math.ceil(math.max((last[2] or 0) - now, 0) / 1000) + KEYS_LIFE_MS)
    redis.call('PEXPIRE', s.tickets, life)
    redis.call('PEXPIRE', s.meta, life)
  end
end

-- A message is 'id slots token expiry;…|name', the name as in the keys. A hint: where the user has no right to publish, waiters find
-- their grant by asking.
local function tell(s, who, lines)
  redis.pcall('PUBLISH', channels .. who, lines .. '|' .. string.match(s.meta, '{([^{}]*)}[^{}]*$'))
end

local function publish(s)
  for who, lines in pairs(s.grants) do
    -- A message has at most 100 lines.
    for first = 1, who ~= client and #lines or 0, 100 do
      tell(s, who, table.concat(lines, ';', first, math.min(first + 99, #lines)))
    end
  end
end

-- When the next ticket expires.
local function nearest(s)
  local rank = text_of(s.gaps)
  local id = redis.call('ZRANGE', s.tickets, rank, rank)[1]
  local expiry = id and id ~= '.' and redis.call('ZSCORE', s.tickets, id)
  return expiry and text_of(expiry) or ''
end

-- `waits`: one of its requests does.
local function close(s, body, waits)
  if s.absent and not s.adds[1] and not s.fields[1] and s.waiting == 0 then
    return body
  end
  settle(s)
  if s.recounted then
    s.adds[#s.adds + 1], s.adds[#s.adds + 2] = '9000000000000000', '.'
    add_field(s, 'layout', '2')
  end
  write(s.adds, 'ZADD', s.tickets)
  write_state(s)
  if s.waiting == 0 and s.waited then
    redis.call('DEL', s.queue)
  end
  if s.renews or s.recounted or math.floor(s.before / 1e10) ~= math.floor(s.last / 1e10) then
    renew(s)
  end
  local own = ''
  if s.grants then
    publish(s)
    own = table.concat(s.grants[client] or {}, ';')
  end
  if s.told == '' and own == '' and not waits then
    return body
  end
  return body .. '/' .. s.told .. '/' .. own .. '/' .. (waits and nearest(s) or '')
end
