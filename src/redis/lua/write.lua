-- Fragment: writes the tickets of what was granted, on the lowest free slots, and what the next call must know;
-- tells waiters of their grants. Afterwards 'slots token' of each grant to this call is in `verdicts` by place, and `told`
-- has those grants of the calling client that it did not ask for now. The rest is pushed. A push is a hint: where the user
-- has no right to publish, waiters find their grant by asking. A message is 'id slots token expiry;…|name': the name
-- stands as in the keys. Many grants make several messages, for a text is copied each time that it grows.

local told, messages, parts, full, FULL = '', nil, nil, nil, 8000
local first_ticket, final = granted > 0 and (count == 0 or strays), renewed
if held == wanted then
  -- Nothing is in use but what is granted now: from 0 again.
  top, spare = 0.0, 0
  if gaps > 0 then
    call('DEL', free)
    gaps = 0.0
  end
elseif granted > 0 and gaps > 0 then
  -- The lowest ranges, beside those that came free in this call; what is left of them goes back below.
  local ranges = call('ZRANGE', free, '0', format('%d', wanted - 1))
  call('ZREMRANGEBYRANK', free, '0', format('%d', wanted - 1))
  gaps, firsts, finals, ordered = gaps - #ranges, firsts or {}, finals or {}, false
  for i = 1, #ranges do
    local first, range_final = match(ranges[i], '^(%d+)%-?(%d*)$')
    spare, first = spare + 1, first * 1.0
    firsts[spare], finals[first] = first, range_final == '' and first or range_final * 1.0
  end
end
if spare > 1 and not ordered then
  table.sort(firsts)
  local kept = 1
  for i = 2, spare do
    local first = firsts[i]
    if finals[firsts[kept]] + 1 == first then
      finals[firsts[kept]] = finals[first]
    else
      kept = kept + 1
      firsts[kept] = first
    end
  end
  spare = kept
end
-- The range to give from next is low .. high, the first of those that came free or, behind them all, what was never used.
local at, low, high = 0, 0, -1
if granted > 0 then
  -- Printing all digits of a number is slow: the first token is mostly the time itself, and those of one call are
  -- written as a common start and six digits.
  last_text = last < now and now_text or format('%.0f', last + 1)
  local start, digits, scores = nil, 0, nil
  if granted > 1 then
    start, digits, scores = string.sub(last_text, 1, -7), string.sub(last_text, -6) * 1.0, {}
    if digits + granted > 1000000 then
      start, digits = format('%.0f', (start == '' and 0 or start) + 1), 0.0
    end
  end
  local grows = count < FEW and count + granted >= FEW
  if grows then
    call('ZADD', tickets, now_text, LONG)
    call('HSET', meta, 'long', LONG)
  end
  local stamp, claim, whole = ' ' .. now_text .. ' ', nil, nil
  for i = 1, granted do
    local id, weight, place = grant_ids[i], weights and weights[i] or 1, places[i]
    local left, held_slots, expiry = weight, nil, nil
    while left > 0 do
      if low > high then
        at = at + 1
        low = at <= spare and firsts[at] or top
        high = at <= spare and finals[low] or math.huge
      end
      if weight == 1 then
        held_slots, low, left = low, low + 1, 0
      else
        local slot = math.min(high, low + left - 1)
        local part = slot == low and format('%d', low) or format('%d-%d', low, slot)
        held_slots = held_slots and held_slots .. ',' .. part or part
        low, left = slot + 1, left - (slot - low + 1)
      end
    end
    -- In one go where it can be: each printed number is a Redis call's worth of work.
    local token
    if not start then
      token = format(weight == 1 and '%d %s' or '%s %s', held_slots, last_text)
    else
      token = format(weight == 1 and '%d %s%06d' or '%s %s%06d', held_slots, start, digits + i - 1)
    end
    if place then
      whole = whole or format('%.0f', now + ttl)
      verdicts[place], expiry = token, whole
    else
      claim = claim or format('%.0f', now + CLAIM_TIME)
      expiry = claim
      local who = match(id, '^[^.]+')
      local line = id .. ' ' .. token .. ' ' .. expiry
      if who == client then
        if #told >= FULL then
          parts = parts or {}
          parts[#parts + 1], told = told, ''
        end
        told = told == '' and line or told .. ';' .. line
      else
        messages = messages or {}
        local message = messages[who]
        if message and #message >= FULL then
          full = full or {}
          full[#full + 1], message = { who, message }, nil
        end
        messages[who] = message and message .. ';' .. line or line
      end
    end
    local record = token .. stamp .. (labels and labels[i] or label)
    if scores then
      scores[2 * i - 1], scores[2 * i] = expiry, id
    else
      call('ZADD', tickets, expiry, id)
    end
    if fields then
      fields[filled + 1], fields[filled + 2] = id, record
    else
      fields = { id, record, 'state', '' }
    end
    filled = filled + 2
  end
  if whole then
    final = math.max(final, now + ttl)
  end
  if claim then
    final = math.max(final, now + CLAIM_TIME)
  end
  if start then
    last_text = start .. format('%06d', digits + granted - 1)
  end
  last = last_text * 1.0
  for first = 1, scores and 2 * granted or 0, 4000 do
    call('ZADD', tickets, unpack(scores, first, math.min(first + 3999, 2 * granted)))
  end
  count = count + granted
  if grows then
    call('ZREM', tickets, LONG)
  end
end

-- What is left of the ranges.
if high == math.huge then
  top, spare = low, 0
elseif low <= high then
  firsts[at], finals[low] = low, high
else
  at = at + 1
end
while spare >= at and spare > 0 and finals[firsts[spare]] == top - 1 do
  top, spare = firsts[spare], spare - 1
end
local kept_in_new = spare >= at and spare > 0 and gaps == 0
if spare >= at and spare > 0 then
  local kept, size = {}, 0
  for i = at, spare do
    local first, range_final = firsts[i], finals[firsts[i]]
    kept[size + 1] = format('%d', first)
    kept[size + 2] = first == range_final and kept[size + 1] or format('%d-%d', first, range_final)
    size = size + 2
  end
  for first = 1, size, 4000 do
    gaps = gaps + call('ZADD', free, unpack(kept, first, math.min(first + 3999, size)))
  end
end

-- Keys live as long as the last ticket or request. Keys that are new get their expiry now, the others when
-- `until_` must move, which is then by half as much again, so that not every call has to.
local shrink = first_ticket and not waited and until_ - now > 3 * (final + GRACE - now)
local moved = final > 0 and (final + GRACE > until_ or shrink)
if moved then
  until_ = final + GRACE + (final - now) / 2
  until_text = format('%.0f', until_)
end
if moved or first_ticket or queued or kept_in_new then
  local life = format('%.0f', math.ceil((until_ - now) / 1000))
  if moved or first_ticket then
    call('PEXPIRE', tickets, life)
  end
  if kept_in_new or (moved and gaps > 0) then
    call('PEXPIRE', free, life)
  end
  if waiting > 0 and (moved or queued) then
    call('PEXPIRE', queue, life)
    call('PEXPIRE', waiters, life)
  end
end
if waited and waiting == 0 then
  call('DEL', waiters)
end

local state = last_text .. format(' %d ', held) .. until_text .. ' ' .. own_limit
if gaps > 0 or waiting > 0 or top > held or count < held then
  state = state .. format(' %d %d %d %d', top, gaps, count, waiting)
end
if state ~= stored[1] and (known_state or last > 0 or waiting > 0) then
  if fields then
    fields[filled + 1], fields[filled + 2] = 'state', state
    filled = filled + 2
  else
    call('HSET', meta, 'state', state)
  end
  if not known_state then
    call('HSET', meta, 'layout', '1')
  end
end
for first = 1, filled, 4000 do
  call('HSET', meta, unpack(fields, first, math.min(first + 3999, filled)))
end
if moved or not known_state then
  call('PEXPIRE', meta, format('%.0f', math.ceil(math.max(until_ - now, 0) / 1000 + DAY)))
end
if messages then
  local channels = string.sub(ARGV[2], 1, -#client - 1)
  local source = '|' .. match(meta, '{([^{}]*)}[^{}]*$')
  for i = 1, full and #full or 0 do
    redis.pcall('PUBLISH', channels .. full[i][1], full[i][2] .. source)
  end
  for who, message in pairs(messages) do
    redis.pcall('PUBLISH', channels .. who, message .. source)
  end
end
if parts then
  parts[#parts + 1] = told
  told = table.concat(parts, ';')
end
