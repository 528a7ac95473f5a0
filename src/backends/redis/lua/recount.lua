-- Fragment of semaphore.lua: the keys disagree, because one was deleted, evicted, restored
-- alone or changed by hand. All is counted again; a ticket counts only with its record, and the
-- other way round.
local function recount(s)
  local fields, live, used = redis.call('HGETALL', s.meta), {}, {}
  local function count(id, value)
    local _, slots, token = ticket_of(value)
    if slots and live[id] then
      live[id], s.count, s.last = nil, s.count + 1, math.max(s.last, token + 0)
      for range in string.gmatch(slots, '[%d-]+') do
        used[#used + 1] = { ends_of(range) }
      end
    elseif string.sub(id, 1, 1) == '~' and not redis.call('ZSCORE', s.tickets, value)
      or string.find(id, '^[^~&]+%.') and not redis.call('ZSCORE', s.queue, (read_request(id, value) or { member = id }).member) then
      redis.call('HDEL', s.meta, id)
    elseif id == 'layout' and value ~= '2' then
      error('REDSEM_LAYOUT ' .. value)
    elseif id == 'stored' then
      s.stored = value
    elseif id == 'pace' and not string.find(s.policy, 'p', 1, true) then
      redis.call('HDEL', s.meta, id)
    end
  end
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', s.tickets, '0', '(9000000000000000')) do
    live[id] = true
  end
  s.top, s.held, s.count, s.gaps, s.freed, s.stored, s.short = 0, 0, 0, 0, {}, '', false
  s.recounted, s.absent = true, not fields[1] and not next(live)
  for i = 1, #fields, 2 do
    count(fields[i], fields[i + 1])
  end
  for id in pairs(live) do
    redis.call('ZREM', s.tickets, id)
  end
  redis.call('ZREMRANGEBYSCORE', s.tickets, '-inf', '(0')
  table.sort(used, function(one, other)
    return one[1] < other[1]
  end)
  for i = 1, #used do
    local first, final = used[i][1], used[i][2]
    if first > s.top then
      add(s.freed, s.top, first - 1)
    end
    s.held, s.top = s.held + final - first + 1, math.max(s.top, final + 1)
  end
  local newest = redis.call('ZRANGE', s.queue, '-1', '-1', 'WITHSCORES')[2] or 0
  recount_order(s, fields)
  s.waiting = count_waiting(s)
  -- Written with 16 digits, always.
  s.last = math.max(s.last, newest + 0, 1000000000000000)
end
