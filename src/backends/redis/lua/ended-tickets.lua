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

-- Drops expired tickets, 100 at a time. After 300 of them it stops, if enough permits are free for
-- the waiting requests and for the call: the next calls drop the others. Of the call's own ids it
-- drops all that have expired.
local function purge(s, ids)
  local wanted, total, found = s.waiting, 0, nil
  for i = 1, #ids do
    local _, permits = parts_of(ids[i])
    wanted = wanted + permits
  end
  repeat
    found = redis.call('ZRANGEBYSCORE', s.tickets, '-inf', s.run.now, 'LIMIT', '0', '100')
    drop(s, found)
    total = total + #found
  until #found < 100 or total >= 300 and s.held + wanted <= s.limit
  local scores, dead = #found == 100 and ids[1] and redis.call('ZMSCORE', s.tickets, unpack(ids)) or {}, {}
  for i = 1, #scores do
    dead[#dead + 1] = scores[i] and scores[i] + 0 <= s.now and ids[i] or nil
  end
  drop(s, dead)
end
