-- Fragment of the slow paths: tickets end: expired, released or revoked. Their slots come free.
-- include: records slots caps fair-order

-- Gives tickets back. Returns their records, by id, and their number.
local function drop(s, ids)
  local records, gone, fields = ids[1] and redis.call('HMGET', s.info, unpack(ids)) or {}, {}, {}
  -- At maxmemory the first write decides whether a script may run: this write takes no memory.
  write(ids, 'ZREM', s.tickets)
  for i = 1, #ids do
    local id, _, slots, _, group = ids[i], ticket_of(records[i])
    if slots and not gone[id] then
      local held = s.held
      gone[id] = records[i]
      free(s, slots)
      if s.cap then
        count_group(s.groups, group, text_of(s.held - held))
        unblock_group(s, group)
      end
      add(fields, id, string.match(id, '~.*$') or id)
    end
  end
  local total = #fields / 2
  s.count = s.count - total
  write(fields, 'HDEL', s.info)
  return gone, total
end

-- Drops expired tickets, 1000 at most, so that a call keeps the server for no longer than some
-- milliseconds. The others keep their slots: the next calls drop them.
local function purge(s)
  drop(s, redis.call('ZRANGEBYSCORE', s.tickets, '-inf', s.run.now, 'LIMIT', '0', '1000'))
end
