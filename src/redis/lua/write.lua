-- Fragment: writes the tickets of what was granted, on the lowest free slots, and what the next call must know;
-- tells waiters of their grants. Afterwards 'slots token' of each grant to this call is in `verdicts` by place, and `told`
-- has those grants of the calling client that it did not ask for now. The rest is pushed. A push is a hint: where the user
-- has no right to publish, waiters find their grant by asking.

local told, messages = '', nil
local first_ticket, final = granted > 0 and count == 0, renewed
if granted > 0 then
  local reused, at = nil, 1
  if top + wanted > held then
    reused = call('ZRANGE', free, '0', format('%d', wanted - 1))
    if #reused > 0 then
      call('ZREMRANGEBYRANK', free, '0', format('%d', #reused - 1))
    end
  end
  -- Printing all digits of a number is slow: the first token is mostly the time itself, and those of one call are
  -- written as a common start and six digits.
  last_text = last < now and now_text or format('%.0f', last + 1)
  local start, digits = nil, 0
  if granted > 1 then
    start, digits = string.sub(last_text, 1, -7), string.sub(last_text, -6) * 1.0
    if digits + granted > 1000000 then
      start, digits = format('%.0f', (start == '' and 0 or start) + 1), 0.0
    end
  end
  local stamp, scores, claim, whole = ' ' .. now_text .. ' ', {}, nil, nil
  for i = 1, granted do
    local grant = grants[i]
    local id, left, place, held_slots, expiry = grant[1], grant[2], grant[4], nil, nil
    if left == 1 then
      held_slots = reused and reused[at]
      if held_slots then
        at = at + 1
      else
        held_slots, top = format('%d', top), top + 1
      end
    else
      local parts = {}
      while left > 0 and reused and reused[at] do
        parts[#parts + 1], at, left = reused[at], at + 1, left - 1
      end
      if left > 0 then
        parts[#parts + 1] = format('%.0f-%.0f', top, top + left - 1)
        top = top + left
      end
      held_slots = table.concat(parts, ',')
    end
    if start then
      last_text = start .. format('%06d', digits + i - 1)
    end
    local token = held_slots .. ' ' .. last_text
    if place then
      if not whole then
        whole, final = format('%.0f', now + ttl), math.max(final, now + ttl)
      end
      verdicts[place], expiry = token, whole
    else
      if not claim then
        claim, final = format('%.0f', now + CLAIM_TIME), math.max(final, now + CLAIM_TIME)
      end
      expiry = claim
      local who = match(id, '^[^.]+')
      local line = id .. ' ' .. token .. ' ' .. expiry
      if who == client then
        told = told == '' and line or told .. ';' .. line
      else
        messages = messages or {}
        messages[who] = messages[who] and messages[who] .. ';' .. line or line
      end
    end
    scores[2 * i - 1], scores[2 * i] = expiry, id
    fields[#fields + 1] = id
    fields[#fields + 1] = token .. stamp .. grant[3]
  end
  last, count = last_text * 1.0, count + granted
  for first = 1, #scores, 4000 do
    call('ZADD', tickets, unpack(scores, first, math.min(first + 3999, #scores)))
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
if moved or first_ticket or queued then
  local life = math.ceil((until_ - now) / 1000)
  if moved or first_ticket then
    call('PEXPIRE', tickets, life)
  end
  if moved and top > held then
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

local state = last_text .. format(' %d %d %d %d ', top, held, count, waiting) .. until_text .. ' ' .. ARGV[2]
if state ~= stored[1] and (known_state or last > 0 or waiting > 0) then
  fields[#fields + 1] = 'state'
  fields[#fields + 1] = state
  if not known_state then
    fields[#fields + 1] = 'layout'
    fields[#fields + 1] = '1'
  end
end
for first = 1, #fields, 4000 do
  call('HSET', meta, unpack(fields, first, math.min(first + 3999, #fields)))
end
if moved or not known_state then
  call('PEXPIRE', meta, math.ceil(math.max(until_ - now, 0) / 1000 + DAY))
end
if messages then
  for who, message in pairs(messages) do
    redis.pcall('PUBLISH', ARGV[3] .. who, message)
  end
end
