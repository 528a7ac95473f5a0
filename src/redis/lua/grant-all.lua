-- Fragment: the shortcut of a call that finds room for all of its requests, nobody waiting and no slot free below those in
-- use. It gives what the rest of the script would give, with fewer instructions (with release-all.lua, a lone pair takes 13 %
-- fewer of the server's and a thousand at once 40 %): most locks are taken so, and so are many permits at once. Where anything else is to be thought of, it has changed nothing that the rest does not.
local fits = known_state and rest == '' and head == now_text and held + total <= limit and ARGV[6] == '' and total > 0
if fits and held > 0 then
  fits = until_ > now and call('ZCOUNT', tickets, '(' .. now_text, '+inf') == held
end
for i = 3, fits and all_known and total + 2 or 0 do
  fits = fits and type(stored[i]) ~= 'string'
end
if fits and (ARGV[5] == '' or now <= ARGV[5] * 1.0) then
  local expires, first = now + ARGV[4] * 1000.0, last < now and now_text or format('%.0f', last + 1)
  local final, added, fields = first, 0, nil
  local grows = held < FEW and held + total >= FEW
  if grows then
    call('ZADD', tickets, now_text, LONG)
  end
  if total == 1 then
    added = call('ZADD', tickets, format('%.0f', expires), listed)
    fields = { listed, held_text .. ' ' .. first .. ' ' .. now_text .. ' ' .. ARGV[3], 'state', '' }
  else
    -- Tokens are written as a common start and six digits, for to print a whole one takes as long as a Redis call.
    local start, digits = string.sub(first, 1, -7), string.sub(first, -6) * 1.0
    if digits + total > 1000000 then
      start, digits = format('%.0f', (start == '' and 0 or start) + 1), 0.0
      first = start .. '000000'
    end
    local scores, expiry, tail = {}, format('%.0f', expires), now_text .. ' ' .. ARGV[3]
    fields = {}
    for i = 1, total do
      -- Backwards: in front of its equals a member finds its place at once.
      scores[2 * i - 1], scores[2 * i] = expiry, ids[total - i + 1]
      fields[2 * i - 1], fields[2 * i] = ids[i], format('%d %s%06d %s', held + i - 1, start, digits + i - 1, tail)
    end
    added = call('ZADD', tickets, unpack(scores))
    final = start .. format('%06d', digits + total - 1)
  end
  if grows then
    call('ZREM', tickets, LONG)
  end
  -- Fewer are new where the call runs twice, or names one id twice.
  if added == total then
    if grows then
      call('HSET', meta, 'long', LONG)
    end
    -- As in write.lua.
    local bound = expires + GRACE
    local moved = bound > until_ or (held == 0 and until_ - now > 3 * (bound - now))
    if moved then
      until_ = bound + (expires - now) / 2
      until_text = format('%.0f', until_)
    end
    if moved or held == 0 then
      call('PEXPIRE', tickets, format('%.0f', math.ceil((until_ - now) / 1000)))
    end
    fields[2 * total + 1] = 'state'
    fields[2 * total + 2] = final .. (held == 0 and total == 1 and ' 1 ' or format(' %d ', held + total)) .. until_text .. ' ' .. own_limit
    call('HSET', meta, unpack(fields))
    if moved then
      call('PEXPIRE', meta, format('%.0f', math.ceil((until_ - now) / 1000 + DAY)))
    end
    return now_text .. '||n' .. held_text .. ' ' .. first .. '|'
  end
  -- Takes back what is new: the rest begins where this did.
  if not all_known then
    stored, all_known = call('HMGET', meta, 'state', 'limit', unpack(ids, 1, total)), true
  end
  local new = { LONG }
  for i = 1, total do
    if type(stored[i + 2]) ~= 'string' then
      new[#new + 1] = ids[i]
    end
  end
  call('ZREM', tickets, unpack(new))
end
