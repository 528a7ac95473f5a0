-- A page of the tickets and requests of each of several semaphores. Writes nothing.
--
-- 1. Tickets and requests are scanned by a cursor each: pages by rank would miss some.
-- 2. A ticket that has expired, or has no record, is left out.
-- 3. Each request is said to live or not, by the lease of its client.
-- 4. The head of a flow comes with its tag, if there is an order beside arrival.
-- 5. It ends after some thousand tickets and requests: the caller asks again for the semaphores that
--    are left.
--
-- KEYS  tickets, info of each semaphore, see semaphore.lua
-- ARGV  1 cursor among the tickets, '' when done   2 cursor among the requests, '' when done
--       3 entries in a page   4 any text: a semaphore that cannot be read fails no other
-- Reply the time and semaphores, with line ends between, a semaphore being '!why' where it cannot be
--       read, or 'state|next cursor|next cursor|holders|waiters': 'id expiry slots token label group
--       charged;…' and 'id lives tag arrival ttl label priority weight group costs;…', without what
--       follows the labels where there is nothing of it. lives: 1 or 0. tag: of a head, see
--       fair-order.lua; p where the request is parked, else empty. state: see close.lua
-- Cost  O(page) for each semaphore

-- include: time keys
local now, seen = now_text + 0, 0

local function page(scanned, line_of)
  local lines = {}
  for i = 1, #scanned[2], 2 do
    lines[#lines + 1] = line_of(scanned[2][i], scanned[2][i + 1])
  end
  seen = seen + #lines
  return table.concat(lines, ';'), scanned[1] ~= '0' and scanned[1] or ''
end

local function tag_of(tickets, id, record)
  if redis.call('ZSCORE', key_of(tickets, 'parked'), id) then
    return 'p'
  end
  local arrival, priority, group = string.match(record, '^(%d+) %d+ %S* (%d) %d+ (%S*) ?%S*$')
  arrival = arrival or string.match(record, '^%d+')
  local tag = redis.call('ZSCORE', key_of(tickets, 'flows:' .. (priority or '0')), arrival .. ' ' .. (group or ''))
  return tag and tag + 0 < AT_CAP and string.format('%d', tag) or ''
end

local function look(tickets, info)
  local state, none = redis.call('HGET', info, 'state') or '', { '0', {} }
  local scanned = ARGV[1] == '' and none or redis.call('ZSCAN', tickets, ARGV[1], 'COUNT', ARGV[3])
  local holders, cursor = page(scanned, function(id, expiry)
    local record = expiry + 0 > now and redis.call('HGET', info, id)
    return record and id .. ' ' .. string.format('%d', expiry) .. ' ' .. record or nil
  end)
  local is_plain, clients = not string.find(state, ' %d:') and not string.find(state, ' parked'), key_of(tickets, 'clients')
  scanned = ARGV[2] == '' and none or redis.call('HSCAN', key_of(tickets, 'requests'), ARGV[2], 'COUNT', ARGV[3])
  local waiters, next_cursor = page(scanned, function(id, record)
    local lease = redis.call('ZSCORE', clients, string.match(id, '^[^.]+'))
    local lives = lease and lease + 0 > now and ' 1 ' or ' 0 '
    return id .. lives .. (is_plain and '' or tag_of(tickets, id, record)) .. ' ' .. record
  end)
  return table.concat({ state, cursor, next_cursor, holders, waiters }, '|')
end

local parts = { now_text }
for i = 1, #KEYS, 2 do
  local is_read, text = true, nil
  if ARGV[4] then
    is_read, text = pcall(look, KEYS[i], KEYS[i + 1])
  else
    text = look(KEYS[i], KEYS[i + 1])
  end
  if not is_read then
    text = '!' .. string.gsub(tostring(type(text) == 'table' and text.err or text), '%c', ' ')
  end
  parts[#parts + 1] = text
  if seen > 5000 then
    break
  end
end
return table.concat(parts, '\n')
