-- Fragment: texts by which a call knows that it runs twice, in a sorted set apart: a text -> until
-- when it counts (microseconds). The loss of that key loses no more than that.
-- include: records

-- Until when a text counts; nil once it counts no more.
local function remembered(key, text, now)
  local till = redis.call('ZSCORE', key, text)
  return till and till + 0 > now and till + 0 or nil
end

-- Forgets texts that count no more. The key lives for a minute more: it must not expire in the
-- middle of a script.
local function remember(key, now, till, ...)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', text_of(now))
  for _, text in ipairs({ ... }) do
    redis.call('ZADD', key, text_of(till), text)
  end
  local last = redis.call('ZRANGE', key, '-1', '-1', 'WITHSCORES')[2]
  redis.call('PEXPIRE', key, text_of(math.ceil((last - now) / 1000) + 60000))
end
