-- Gives tickets back on one master of a quorum.
--
-- KEYS  qslots, qmeta
-- ARGV  1 the caller's set if the tickets were held, - and the set if they were won for nothing, else ''
--       then for each ticket: id, the last attempt to give back, or '' for any
-- Reply 'now|digits': for each, 1 was live, 0 was not
-- Cost  O(log slots held) for each permit

-- include: quorum-clock
local digits, any = {}, false
for i = 2, #ARGV, 2 do
  local ticket = find_live(ARGV[i])
  local mine = ticket and (ARGV[i + 1] == '' or ticket.attempt <= ARGV[i + 1] * 1.0)
  if mine then
    clear(ticket)
  end
  any = any or mine
  digits[#digits + 1] = mine and '1' or '0'
end
local empty = call('ZCARD', slots) == 0
if last > 0 and empty then
  call('PEXPIRE', meta, format('%.0f', DAY))
end
-- See quorum-set: a set in which a ticket was held is proven, one in which none was is forgotten with the last that was won.
local vain, set = match(ARGV[1], '^(%-?)(.*)$')
local sets = (vain == '' and any or vain == '-' and empty) and call('HGET', meta, 'sets') or ''
local parts = {}
for till, mark, one in gmatch(sets, '(%d+) (=?)([^;]+)') do
  if one ~= set or mark == '=' or vain == '' then
    parts[#parts + 1] = till .. ' ' .. (one == set and '=' or mark) .. one
  end
end
local kept = table.concat(parts, ';')
if kept ~= sets then
  call('HSET', meta, 'sets', kept)
end
return now_text .. '|' .. table.concat(digits)
