-- Stores the limit that counts from now on for every process, and grants what it makes room for. Nobody loses a permit when it shrinks.
--
-- KEYS  tickets, meta, queue
-- ARGV  1 what all inbox channels begin with   2 the caller's name   3 limit   4 the new limit   5 not after (microseconds, or '')
-- Reply 'now|semaphore', the semaphore being '', l when late; and what slow.lua adds
-- Cost  O(log n) for each expired ticket and grant

-- include: time ids
local function make_slow(now_text, channels, client)
  -- include: slow slots serve
  function S.set_limit(s, new_limit)
    s.stored, s.limit = new_limit, new_limit + 0
    s.told = new_limit ~= s.own and 's' .. new_limit or ''
    s.add(s.fields, 'stored', new_limit)
    s:serve()
    return s:close('')
  end
  return S
end

local now_text, problem = server_time()
if problem then
  return redis.error_reply(problem)
end
local slow = make_slow(now_text, ARGV[1], ARGV[2])
local semaphore = slow:open(KEYS[1], KEYS[2], KEYS[3], ARGV[3])
if ARGV[5] ~= '' and now_text > ARGV[5] then
  return now_text .. '|' .. semaphore:close('l')
end
return now_text .. '|' .. semaphore:set_limit(ARGV[4])
