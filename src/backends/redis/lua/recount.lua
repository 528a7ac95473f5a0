-- Fragment of semaphore.lua: the keys disagree, because one was deleted, evicted, restored
-- alone or changed by hand. All is counted again; a ticket counts only with its record, and the
-- other way round.

local function rebuild_order(s, requests)
  redis.call('ZREMRANGEBYSCORE', s.queue, '-1700000000000000', '(1500000000000000')
  s.order = nil
  table.sort(requests, function(one, other)
    return one.member < other.member
  end)
  for _, r in ipairs(requests) do
    if r.plain then
      follow(s, r, 0)
    end
  end
  for _, r in ipairs(requests) do
    if not r.plain then
      if not s.order then
        begin_order(s)
      end
      s.order.others = s.order.others + 1
      join(s, r)
    end
  end
end

-- What is known of the order counts where it fits the queue; else it is made again.
local function recount_order(s, fields)
  local requests, flows, others = {}, {}, 0
  for i = 1, #fields, 2 do
    local r = read_request(fields[i], fields[i + 1])
    if string.sub(fields[i], 1, 1) == '&' then
      flows[#flows + 1] = fields[i]
    elseif r and redis.call('ZSCORE', s.queue, r.member) then
      requests[#requests + 1], s.last = r, math.max(s.last, r.place + 0)
      others = others + (r.plain and 0 or 1)
    end
  end
  s.policy, s.order = string.gsub(s.policy, 'o', ''), nil
  if not flows[1] and not requests[1] then
    return
  end
  read_order(s)
  s.order.parked = redis.call('ZCOUNT', s.queue, '-1700000000000000', '(-1600000000000000')
  if s.order.others == others and redis.call('ZCOUNT', s.queue, '0', '(1400000000000000') == #flows then
    s.policy = s.policy .. 'o'
    return
  end
  flows[#flows + 1] = 'order'
  write(flows, 'HDEL', s.meta)
  rebuild_order(s, requests)
end

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
