-- Stores the limit that counts from now on for every process, and grants what it makes room for. Nobody loses a permit when it shrinks.
--
-- KEYS  tickets, meta, queue
-- ARGV  1 the caller's inbox channel   2 limit   3 the new limit   4 not after (microseconds, or '')
-- Reply 'now|semaphore', the semaphore being '', l when late; and what slow.lua adds
-- Cost  O(log n) for each expired ticket and grant

-- include: time
local now_text = server_time()
local inbox, now, new_limit = ARGV[1], now_text + 0, ARGV[3]
-- include: slow slots serve close
local s = open(KEYS[1], KEYS[2], KEYS[3], ARGV[2])
if ARGV[4] ~= '' and now_text > ARGV[4] then
  serve(s)
  return now_text .. '|' .. close(s, 'l')
end
s.stored, s.limit, s.told = new_limit, new_limit + 0, new_limit ~= s.own and 's' .. new_limit or ''
add_field(s, 'stored', new_limit)
serve(s)
return now_text .. '|' .. close(s, '')
