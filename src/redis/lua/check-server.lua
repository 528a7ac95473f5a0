-- Tells the server's time, where the server knows a command that came with Redis 6.2, without which the other scripts fail
-- in the middle. Writes nothing.
--
-- KEYS  tickets, or another sorted set of the semaphore
-- ARGV  1 limit
-- Reply the time in microseconds
-- Cost  O(1)

-- include: clock
call('ZMSCORE', tickets, '')
return now_text
