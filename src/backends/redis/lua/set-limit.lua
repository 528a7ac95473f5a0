-- Stores the limit that counts from now on for every process, and grants the permits that it adds.
--
-- 1. Holders keep their permits when it shrinks, and 0 grants none.
-- 2. With 'none' no limit is stored: each caller's own limit counts again.
-- 3. A change is relative to the limit that counts, and has an id.
-- 4. An id of the last minute changes nothing new, and says what it made.
-- 5. The queue is served under the new limit.
--
-- KEYS  tickets, info, see semaphore.lua
-- ARGV  1 the caller's inbox channel   2 limit   3 the new limit, 'none', or a change of the
--       limit that counts: '+2', '-1'   4 the id of the change, else ''
--       5 not after (microseconds, or '')
-- Reply see close.lua. The verdict is l when late; of a change the limit that it made, or x and the
--       limit if it would go below 0 or above 2^53 - 1 and nothing was changed; else ''
-- Cost  O(log n) for each expired ticket and grant, and in the changes of a minute; O(waiting
--       requests) if the limit has grown for requests that waited aside

-- include: time semaphore close remember
-- The limit that a change made within the last minute, or nil. The key 'changes' has each id, and
-- 'id limit' beside it: no other change is read, but of the same microsecond.
local function made_before(key, id, now)
  local till = redis.call('ZSCORE', key, id) or 0
  for _, made in ipairs(till + 0 > now and redis.call('ZRANGEBYSCORE', key, till, till) or {}) do
    if string.sub(made, 1, #id + 1) == id .. ' ' then
      return string.sub(made, #id + 2)
    end
  end
end

local limit, id, changes = ARGV[3], ARGV[4], key_of(KEYS[1], 'changes')
local late, is_new, verdict = ARGV[5] ~= '' and now_text > ARGV[5], true, ''
local s = open(KEYS[1], KEYS[2], { inbox = ARGV[1], now = now_text, limit = ARGV[2] })
if late then
  is_new, verdict = false, LATE
elseif id ~= '' then
  local before, sum = made_before(changes, id, s.now), s.limit + limit
  limit = before or sum >= 0 and sum <= 9007199254740991 and text_of(sum)
  is_new, verdict = limit and not before, limit or REFUSED .. text_of(s.limit)
end
if is_new then
  s.stored = limit == 'none' and '' or limit
  s.limit = (s.stored ~= '' and s.stored or s.configured ~= '' and s.configured or s.own) + 0
  s.told = s.stored ~= '' and s.stored ~= s.own and STORED .. s.stored or ''
end
if is_new and id ~= '' then
  redis.call('ZADD', changes, text_of(s.now + 60000000), id)
  remember(changes, s.now, s.now + 60000000, id .. ' ' .. limit)
end
-- An operator may know the stored limit alone: its call says nothing of the limit that others are
-- made with.
s.own = s.configured == '' and s.own or s.configured
return now_text .. '|' .. close(s, verdict)
