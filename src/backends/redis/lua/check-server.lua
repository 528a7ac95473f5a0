-- Fails on a server that lacks a command of Redis 6.2, without which the other scripts fail in the
-- middle, or that keeps a script from a key that is derived from a declared key.
-- Writes nothing.
--
-- KEYS  tickets; or another sorted set, beside which no key is derived
-- Reply the time in microseconds
-- Cost  O(1)

-- include: time
redis.call('ZMSCORE', KEYS[1], '')
redis.call('EXISTS', (string.gsub(KEYS[1], ':tickets$', ':requests')))
return now_text
