-- Fragment of acquire.lua: a name that was never used, or not for a day.
local function begin(tickets, meta, ttl)
  local life = string.format('%d', KEYS_LIFE_MS + math.ceil(ttl / 1000))
  redis.call('ZADD', tickets, '9000000000000000', '.')
  redis.call('HSET', meta, 'layout', '2')
  redis.call('PEXPIRE', tickets, life)
  redis.call('PEXPIRE', meta, life)
end
