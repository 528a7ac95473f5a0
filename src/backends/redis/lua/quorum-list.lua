-- Tells one page of the slots that are held on one master of a quorum. Writes nothing but what has expired.
--
-- KEYS  qslots, qmeta
-- ARGV  1 cursor   2 slots in a page
-- Reply 'now|next cursor, '' when done|id expiry slots token attempt granted label;…', a ticket with the page that has its first slot
-- Cost  O(log slots held + page), and the tickets that have slots in the page

-- include: quorum-clock
local scanned = call('ZSCAN', slots, ARGV[1], 'COUNT', ARGV[2])
local entries, records, lines = scanned[2], {}, {}
-- ioredis-mock counts from 0 here.
local from = entries[0] and 0 or 1
for i = from, from + #entries - 1, 2 do
  local slot, id = entries[i], call('HGET', meta, entries[i])
  local record = id and records[id]
  if id and record == nil then
    record = call('HGET', meta, id)
    records[id] = record
  end
  -- Each of its slots leads to it, and it may have thousands.
  if record and match(record, '^%d+') == slot then
    lines[#lines + 1] = id .. ' ' .. format('%.0f', entries[i + 1] * 1.0) .. ' ' .. record
  end
end
return now_text .. '|' .. (scanned[1] ~= '0' and scanned[1] or '') .. '|' .. table.concat(lines, ';')
