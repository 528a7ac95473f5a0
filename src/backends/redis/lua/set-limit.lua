-- Stores the limit that counts from now on for every process, and grants the permits that it adds.
--
-- 1. Holders keep their permits when it shrinks, and 0 grants none.
-- 2. With 'none' no limit is stored: each caller's own limit counts again.
-- 3. A change is relative to the limit that counts, and has an id.
-- 4. The key 'change:' and the id has the limit that a change made, for a minute: its second run
--    changes nothing new.
-- 5. The queue is served under the new limit.
--
-- KEYS  tickets, info, see semaphore.lua
-- ARGV  1 the caller's inbox channel   2 limit   3 the new limit, 'none', or a change of the
--       limit that counts: '+2', '-1'   4 the id of the change, else ''
--       5 not after (microseconds, or '')
-- Reply see close.lua. The verdict is l when late; of a change the limit that it made, or x and the
--       limit if it would go below 0 or above 2^53 - 1 and nothing was changed; else ''
-- Cost  O(log n) for each expired ticket and grant; O(waiting requests) if the limit has grown for
--       requests that waited aside

-- include: change
local limit, id, verdict = ARGV[3], ARGV[4], ''
if id ~= '' then
  local change, sum = key_of(KEYS[1], 'change:' .. id), s.limit + limit
  local made = redis.call('ZRANGEBYSCORE', change, '(' .. now_text, '+inf')[1]
  if made then
    limit, verdict = nil, made
  elseif sum < 0 or sum > 9007199254740991 then
    limit, verdict = nil, REFUSED .. text_of(s.limit)
  else
    limit, verdict = text_of(sum), text_of(sum)
    redis.call('ZADD', change, text_of(s.now + 60000000), limit)
    redis.call('PEXPIRE', change, '120000')
  end
end
if limit then
  s.stored = limit == 'none' and '' or limit
  s.limit, s.told = (s.stored == '' and s.own or s.stored) + 0, ''
end
return now_text .. '|' .. close(s, verdict)
