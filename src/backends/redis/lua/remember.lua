-- Fragment: texts by which a call knows that it runs twice, in a sorted set apart: a text -> until
-- when it counts (microseconds). The loss of that key loses no more than that.
-- include: records

-- Forgets texts that count no more. The key lives for a minute more: it must not expire in the
-- middle of a script.
local function remember(key, now, till, text)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', text_of(now))
  redis.call('ZADD', key, text_of(till), text)
  local last = redis.call('ZRANGE', key, '-1', '-1', 'WITHSCORES')[2]
  redis.call('PEXPIRE', key, text_of(math.ceil((last - now) / 1000) + 60000))
end
