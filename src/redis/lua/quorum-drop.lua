-- Gives tickets back on one master of a quorum.
--
-- KEYS  qslots, qmeta
-- ARGV  for each ticket: id, the last attempt to give back, or '' for any
-- Reply 'now|digits': for each, 1 was live, 0 was not
-- Cost  O(log slots held) for each permit

-- include: quorum-clock
local digits = {}
for i = 1, #ARGV, 2 do
  local ticket = find_live(ARGV[i])
  local mine = ticket and (ARGV[i + 1] == '' or ticket.attempt <= ARGV[i + 1] * 1.0)
  if mine then
    clear(ticket)
  end
  digits[#digits + 1] = mine and '1' or '0'
end
if last > 0 and call('ZCARD', slots) == 0 then
  call('PEXPIRE', meta, format('%.0f', DAY))
end
return now_text .. '|' .. table.concat(digits)
