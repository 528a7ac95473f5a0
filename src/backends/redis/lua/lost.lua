-- Fragment of slow.lua: the keys do not say the same, for one was deleted, evicted, restored alone or changed by hand. All is counted again;
-- a ticket counts only with its record, and the other way round.
local function recount_field(s, id, value, live, used)
  local slots, token = string.match(value, '^([%d,-]+) (%d+) ')
  if slots and live[id] then
    live[id] = nil
    s.count, s.last = s.count + 1, math.max(s.last, token + 0)
    each_range(slots, function(first, final)
      for slot = first, final do
        used[slot] = true
      end
      s.held, s.top = s.held + final - first + 1, math.max(s.top, final + 1)
    end)
  elseif string.sub(id, 1, 1) == '~' and not redis.call('ZSCORE', s.tickets, value) then
    redis.call('HDEL', s.meta, id)
  elseif string.find(id, '^[^~]+%.') and not redis.call('ZSCORE', s.queue, id) then
    redis.call('HDEL', s.meta, id)
  end
end

local function recount(s)
  local fields, live, used = redis.call('HGETALL', s.meta), {}, {}
  local ids = redis.call('ZRANGEBYSCORE', s.tickets, '0', '(9000000000000000')
  for i = 1, #ids do
    live[ids[i]] = true
  end
  s.top, s.held, s.count, s.gaps, s.spare, s.stored, s.short = 0, 0, 0, 0, {}, '', false
  s.recounted, s.absent = true, #fields == 0 and #ids == 0
  for i = 1, #fields, 2 do
    if fields[i] == 'layout' and fields[i + 1] ~= '2' then
      error('REDSEM_LAYOUT ' .. fields[i + 1])
    elseif fields[i] == 'stored' then
      s.stored = fields[i + 1]
    end
    recount_field(s, fields[i], fields[i + 1], live, used)
  end
  for id in pairs(live) do
    redis.call('ZREM', s.tickets, id)
  end
  redis.call('ZREMRANGEBYSCORE', s.tickets, '-inf', '(0')
  for slot = 0, s.top - 1 do
    if not used[slot] then
      free_range(s, slot, slot)
      s.held = s.held + 1
    end
  end
  s.waiting = redis.call('ZCOUNT', s.queue, '0', '+inf')
  local newest = s.waiting > 0 and redis.call('ZRANGE', s.queue, '-1', '-1', 'WITHSCORES')[2] or 0
  -- Written with 16 digits, always.
  s.last = math.max(s.last, newest + 0, 1000000000000000.0)
end
