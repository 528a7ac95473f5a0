-- What the server says of its memory, such as its eviction policy. Writes nothing.
--
-- KEYS  info, to reach the right node of a cluster
-- Reply lines 'name:value'; an error where the user has no right to INFO
-- Cost  O(1)

return redis.call('INFO', 'memory')
