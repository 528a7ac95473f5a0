-- Gives one page of the tickets that are held on one master of a quorum. Writes nothing but what has expired.
--
-- KEYS  of one semaphore, see quorum-store
-- ARGV  1 cursor   2 tickets in a page
-- Reply 'now|next cursor, '' when done|id expiry slots token attempt granted label;…'
-- Cost  O(page)

-- include: time quorum-store
local sem = open(KEYS[1], KEYS[2], server_time())
local scanned, lines = redis.call('HSCAN', sem.meta, ARGV[1], 'COUNT', ARGV[2]), {}
for i = 1, #scanned[2], 2 do
  local id, record = scanned[2][i], scanned[2][i + 1]
  local expiry = redis.call('ZSCORE', sem.slots, string.match(record, '^%d*') .. ' ' .. id)
  lines[#lines + 1] = expiry and id .. string.format(' %d ', expiry) .. record or nil
end
return sem.now_text .. '|' .. (scanned[1] ~= '0' and scanned[1] or '') .. '|' .. table.concat(lines, ';')
