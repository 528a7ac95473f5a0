-- Fragment: writes the tickets of what was granted, on the lowest free slots, and what the next call must know;
-- tells waiters of their grants. Afterwards 'slots token' of each is in `tokens` by id, and `told` has those grants
-- of the calling client that it did not ask for now. The rest is pushed. A push is a hint: where the user has no
-- right to publish, waiters find their grant by asking.

local tokens, told, messages = {}, {}, nil
local first_ticket, final = granted > 0 and count == 0, renewed
if granted > 0 then
  local reused, at = {}, 1
  if top + wanted > held then
    reused = call('ZRANGE', free, 0, format('%.0f', wanted - 1))
    if #reused > 0 then
      call('ZREMRANGEBYRANK', free, 0, #reused - 1)
    end
  end
  -- Tokens of one call are written as a common start and six digits: printing all 16 of each is slow.
  last = math.max(last + 1, now)
  local start = math.floor(last / 1000000)
  local digits = last - start * 1000000.0
  if digits + granted > 1000000 then
    start, digits = start + 1, 0.0
  end
  local prefix, stamp, texts, scores = format('%.0f', start), ' ' .. now_text .. ' ', {}, {}
  for i = 1, granted do
    local id, expiry, left, held_slots = new_ids[i], new_expiries[i], new_permits[i], nil
    if left == 1 and reused[at] then
      held_slots, at = reused[at], at + 1
    elseif left == 1 then
      held_slots, top = format('%d', top), top + 1
    else
      local parts = {}
      while left > 0 and reused[at] do
        parts[#parts + 1], at, left = reused[at], at + 1, left - 1
      end
      if left > 0 then
        parts[#parts + 1] = format('%.0f-%.0f', top, top + left - 1)
        top = top + left
      end
      held_slots = table.concat(parts, ',')
    end
    if not texts[expiry] then
      texts[expiry], final = format('%.0f', expiry), math.max(final, expiry)
    end
    local token = format('%s %s%06d', held_slots, prefix, digits + i - 1)
    tokens[id] = token
    scores[2 * i - 1], scores[2 * i] = texts[expiry], id
    fields[#fields + 1] = id
    fields[#fields + 1] = token .. stamp .. (new_labels[i] or ARGV[5])
    if not own[id] then
      local who = match(id, '^[^.]+')
      local line = id .. ' ' .. token .. ' ' .. texts[expiry]
      if who == client then
        told[#told + 1] = line
      else
        messages = messages or {}
        messages[who] = messages[who] and messages[who] .. ';' .. line or line
      end
    end
  end
  last, count = start * 1000000.0 + digits + granted - 1, count + granted
  for from = 1, #scores, 4000 do
    call('ZADD', tickets, unpack(scores, from, math.min(from + 3999, #scores)))
  end
end

-- Keys live as long as the last ticket or request. Keys that are new get their expiry now, the others when
-- `until_` must move, which is then by half as much again, so that not every call has to.
local shrink = first_ticket and not waited and until_ - now > 3 * (final + GRACE - now)
local moved = final > 0 and (final + GRACE > until_ or shrink)
if moved then
  until_ = final + GRACE + (final - now) / 2
end
if final > 0 then
  local life = format('%.0f', (until_ - now) / 1000)
  if granted > 0 or moved then
    call('PEXPIRE', tickets, life)
  end
  if moved and top > held then
    call('PEXPIRE', free, life)
  end
  if waiting > 0 then
    call('PEXPIRE', queue, life)
    call('PEXPIRE', waiters, life)
  end
end
if waited and waiting == 0 then
  call('DEL', waiters)
end

local state = format('%.0f %d %d %d %d %.0f', last, top, held, count, waiting, until_)
if state ~= stored[1] and (known_state or last > 0 or waiting > 0) then
  fields[#fields + 1] = 'state'
  fields[#fields + 1] = state
  if not known_state then
    fields[#fields + 1] = 'layout'
    fields[#fields + 1] = '1'
  end
end
for from = 1, #fields, 4000 do
  call('HSET', meta, unpack(fields, from, math.min(from + 3999, #fields)))
end
if not known_state or until_ - now > 3600000000 then
  call('PEXPIRE', meta, format('%.0f', math.max(until_ - now, 0) / 1000 + 86400000))
end
if messages then
  for who, message in pairs(messages) do
    redis.pcall('PUBLISH', ARGV[3] .. who, message)
  end
end
