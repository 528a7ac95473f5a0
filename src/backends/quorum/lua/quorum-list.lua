-- Gives a page of the slots that are held on one master of a quorum. Writes only to drop expired
-- tickets.
--
-- KEYS  of one semaphore, see quorum-store
-- ARGV  1 cursor   2 slots in a page
-- Reply 'now|next cursor, '' at the end|id expiry slots token attempt granted label;…'. A ticket is
--       in the page that has its first slot
-- Cost  O(log slots held + page)

-- include: time quorum-store
local sem = open(KEYS[1], KEYS[2], now_text)
local scanned, records, lines = redis.call('ZSCAN', sem.slots, ARGV[1], 'COUNT', ARGV[2]), {}, {}
for i = 1, #scanned[2], 2 do
  local slot, id = string.match(scanned[2][i], '^(%d+) (.*)$')
  records[id] = records[id] or redis.call('HGET', sem.meta, id) or ''
  lines[#lines + 1] = string.match(records[id], '^%d+') == slot and id .. string.format(' %d ', scanned[2][i + 1]) .. records[id] or nil
end
return sem.now_text .. '|' .. (scanned[1] ~= '0' and scanned[1] or '') .. '|' .. table.concat(lines, ';')
