-- The server's time, where it knows a command that came with Redis 6.2, without which the other
-- scripts fail in the middle. Writes nothing.
--
-- KEYS  tickets, or another sorted set of the semaphore
-- Reply the time in microseconds
-- Cost  O(1)

-- include: time
redis.call('ZMSCORE', KEYS[1], '')
return now_text
