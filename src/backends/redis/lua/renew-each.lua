-- Fragment of extend.lua: tickets of one semaphore, whatever it is like.
local function renew_each(tickets, meta, queue, ids, tokens, run)
  local s, verdicts, known = open(tickets, meta, queue, run, ids), {}, {}
  redis.call('HDEL', meta, '')
  local records, revoked = redis.call('HMGET', meta, unpack(ids)), key_beside(tickets, 'revoked')
  for i = 1, #ids do
    known[ids[i]] = has_token(records[i])
  end
  find_lost(s, ids, known)
  for i = 1, #ids do
    if has_token(records[i], tokens[i]) then
      add(s.adds, run.expires, ids[i])
      s.ends, verdicts[i] = s.now + run.ttl, '1'
    else
      verdicts[i] = remembered(revoked, ids[i], s.now) and 'r' or '0'
    end
  end
  serve(s)
  return close(s, table.concat(verdicts))
end
