-- Tells one page of the slots that are held on one master of a quorum. Writes nothing but what has expired.
--
-- KEYS  qslots, qmeta
-- ARGV  1 cursor   2 slots in a page
-- Reply 'now|next cursor, '' when done|id expiry slots token attempt granted label;…', a ticket once for each of its slots
-- Cost  O(log slots held + page)

-- include: quorum-clock
local scanned = call('ZSCAN', slots, ARGV[1], 'COUNT', ARGV[2])
local entries, lines = scanned[2], {}
for i = 1, #entries, 2 do
  local id = call('HGET', meta, entries[i])
  local record = id and call('HGET', meta, id)
  if record then
    lines[#lines + 1] = id .. ' ' .. format('%.0f', entries[i + 1] * 1.0) .. ' ' .. record
  end
end
return now_text .. '|' .. (scanned[1] ~= '0' and scanned[1] or '') .. '|' .. table.concat(lines, ';')
