-- The server's eviction policy, as a policy that may evict a semaphore's keys is reported. Writes
-- nothing.
--
-- KEYS  info, to reach the right node of a cluster
-- Reply 'maxmemory policy', such as '0 noeviction'; an error where the user has no right to INFO
-- Cost  O(1)

local info = redis.call('INFO', 'memory')
local policy = string.match(info, 'maxmemory_policy:([%w-]+)')
return string.match(info, 'maxmemory:(%d+)') .. ' ' .. policy
