-- Fragment of release.lua: tickets and requests of one semaphore, whatever it is like.

-- Takes those of the ids that wait out of the queue. Heads come last, so that none of these
-- succeeds one.
local function withdraw(s, ids)
  local records, before = s.order and redis.call('HMGET', s.meta, unpack(ids)), s.waiting
  s.waiting = s.waiting - redis.call('ZREM', s.queue, unpack(ids))
  for i = 1, records and #ids or 0 do
    local r = read_request(ids[i], records[i])
    local score = r and redis.call('ZSCORE', s.queue, r.member)
    if score then
      leave(s, r, score + 0)
    end
  end
  if s.waiting < before then
    redis.call('HDEL', s.meta, unpack(ids))
  end
end

local function give_back(tickets, meta, queue, ids, run)
  local s, verdicts = open(tickets, meta, queue, run, ids), {}
  -- Whether a script may run at maxmemory is decided by its first write: this one takes no memory.
  redis.call('HDEL', meta, '')
  local gone, dropped = drop_by_id(s, ids)
  if dropped < #ids then
    find_lost(s, ids, gone)
  end
  if s.waiting > 0 and dropped < #ids then
    withdraw(s, ids)
  end
  serve(s)
  for i = 1, #ids do
    verdicts[i] = gone[ids[i]] and '1' or '0'
  end
  return close(s, table.concat(verdicts))
end
