-- Gives one page of the names of semaphores. Writes nothing.
--
-- KEYS  the start of all their keys, 'prefix:', to which a client may add its own; none
--       on a master of a cluster
-- ARGV  1 cursor, 0 at first   2 keys in a page   3 as KEYS, where that is empty
-- Reply 'next cursor}tag}tag…', the next cursor being 0 when done; a tag is a name as keys have it,
--       without braces
-- Cost  O(keys in a page)

local start = KEYS[1] or ARGV[3]
local pattern = string.gsub(start, '[%*%?%[%]\\]', '\\%0') .. '{*}:info'
local scanned = redis.call('SCAN', ARGV[1], 'MATCH', pattern, 'COUNT', ARGV[2])
local parts = { scanned[1] }
for _, key in ipairs(scanned[2]) do
  parts[#parts + 1] = string.match(string.sub(key, #start + 1), '^{([^{}]+)}:info$')
end
return table.concat(parts, '}')
