-- Fragment of extend.lua: tickets of any semaphore.
-- include: semaphore close
local function renew_each(tickets, info, ids, tokens, run, has_token)
  local s, verdicts, revoked = open(tickets, info, run), {}, key_of(tickets, 'revoked')
  redis.call('HDEL', info, '')
  local records = redis.call('HMGET', info, unpack(ids))
  for i = 1, #ids do
    if has_token(records[i], tokens[i]) then
      add(s.adds, run.expires, ids[i])
      s.ends, verdicts[i] = s.now + run.ttl, '1'
    else
      verdicts[i] = (redis.call('ZSCORE', revoked, ids[i]) or 0) + 0 > s.now and REVOKED or '0'
    end
  end
  return close(s, table.concat(verdicts))
end

return renew_each
