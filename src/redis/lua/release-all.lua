-- Fragment: the shortcut of a call that gives back all that is held, nobody waiting. It does what the rest of the script would
-- do, with fewer instructions, see grant-all.lua: most locks are given back so. Where anything else is to be thought of, it has changed
-- nothing.
local fits = known_state and rest == '' and head == now_text and held == total and total > 0 and until_ > now
if fits and total == 1 then
  local expiry = type(stored[3]) == 'string' and call('ZSCORE', tickets, listed)
  fits = type(expiry) == 'string' and expiry * 1.0 > now
elseif fits then
  local seen = {}
  for i = 1, total do
    local id = ids[i]
    -- Other fields have no dot.
    fits = fits and not seen[id] and type(stored[i + 2]) == 'string' and find(id, '.', 1, true)
    seen[id] = true
  end
  fits = fits and call('ZCOUNT', tickets, '(' .. now_text, '+inf') == total and call('ZCARD', tickets) == total
end
-- Adopted tickets have more to forget.
if fits and not string.find(listed, '~', 1, true) then
  if total == 1 then
    call('ZREM', tickets, listed)
  else
    call('DEL', tickets)
  end
  call('HDEL', meta, unpack(ids, 1, total))
  call('HSET', meta, 'state', last_text .. ' 0 ' .. until_text .. ' ' .. own_limit)
  return now_text .. '|' .. string.rep('1', total) .. '|'
end
