-- One page of the tickets and requests of a semaphore. Writes nothing.
--
-- 1. Tickets and requests are scanned by a cursor each: pages by rank would miss some.
-- 2. A ticket that has expired, or has no record, is left out.
-- 3. Each request is said to live or not, by the lease of its client.
-- 4. The head of a flow comes with its tag, if there is an order beside arrival.
-- 5. The state is given as it is stored.
--
-- KEYS  tickets, info, see semaphore.lua
-- ARGV  1 cursor among the tickets, '' when done   2 cursor among the requests, '' when done
--       3 entries in a page
-- Reply 'now|state|next cursor|next cursor|holders|waiters': 'id expiry slots token label group
--       charged;…' and 'id lives tag arrival ttl label priority weight group costs;…', without what
--       follows the labels where there is nothing of it. lives: 1 or 0. tag: of a head, see
--       fair-order.lua, else empty. state: see close.lua
-- Cost  O(page)

-- include: time keys waiting-requests
local function page(command, key, cursor, line_of)
  local scanned, lines = cursor == '' and { '0', {} } or redis.call(command, key, cursor, 'COUNT', ARGV[3]), {}
  for i = 1, #scanned[2], 2 do
    lines[#lines + 1] = line_of(scanned[2][i], scanned[2][i + 1])
  end
  return table.concat(lines, ';'), scanned[1] ~= '0' and scanned[1] or ''
end

local tickets, info, now = KEYS[1], KEYS[2], now_text + 0
local state = redis.call('HGET', info, 'state') or ''
local clients = key_of(tickets, 'clients')

local held, cursor = page('ZSCAN', tickets, ARGV[1], function(id, expiry)
  local record = expiry + 0 > now and redis.call('HGET', info, id)
  return record and id .. ' ' .. string.format('%d', expiry) .. ' ' .. record or nil
end)

local is_ordered = string.find(state, ' %d:')
local waiting, next_cursor = page('HSCAN', key_of(tickets, 'requests'), ARGV[2], function(id, record)
  local lease = redis.call('ZSCORE', clients, string.match(id, '^[^.]+'))
  local lives = lease and lease + 0 > now and ' 1 ' or ' 0 '
  local r = is_ordered and request_of({ tickets = tickets }, id, record)
  local tag = r and redis.call('ZSCORE', r.heads, r.head)
  return id .. lives .. (tag and tag + 0 < AT_CAP and string.format('%d', tag) or '') .. ' ' .. record
end)
return table.concat({ now_text, state, cursor, next_cursor, held, waiting }, '|')
