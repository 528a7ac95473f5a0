-- Fragment of release.lua: tickets and requests of one semaphore, whatever it is like.
local function give_back(tickets, meta, queue, ids, run)
  local s, verdicts = open(tickets, meta, queue, run, ids), {}
  -- Whether a script may run at maxmemory is decided by its first write: this one takes no memory.
  redis.call('HDEL', meta, '')
  local gone, dropped = drop_by_id(s, ids)
  if dropped < #ids then
    find_lost(s, ids, gone)
  end
  if s.waiting > 0 and dropped < #ids then
    local withdrawn = redis.call('ZREM', queue, unpack(ids))
    s.waiting = s.waiting - withdrawn
    if withdrawn > 0 then
      redis.call('HDEL', meta, unpack(ids))
    end
  end
  serve(s)
  for i = 1, #ids do
    verdicts[i] = gone[ids[i]] and '1' or '0'
  end
  return close(s, table.concat(verdicts))
end
