-- Fragment of extend.lua: tickets of any semaphore.
-- include: semaphore close
local function renew_each(tickets, info, ids, tokens, run, has_token)
  local s, verdicts = open(tickets, info, run), {}
  redis.call('HDEL', info, '')
  local records = redis.call('HMGET', info, unpack(ids))
  for i = 1, #ids do
    if has_token(records[i], tokens[i]) then
      add(s.adds, run.expires, ids[i])
      s.ends, verdicts[i] = s.now + run.ttl, '1'
    else
      local revoked = key_of(tickets, 'revoked:' .. ids[i])
      verdicts[i] = redis.call('ZCOUNT', revoked, '(' .. now_text, '+inf') > 0 and REVOKED or '0'
    end
  end
  return close(s, table.concat(verdicts))
end

return renew_each
