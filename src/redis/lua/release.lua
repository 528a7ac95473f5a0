-- Gives tickets back and withdraws queued requests, by id; what is not there is left alone.
--
-- KEYS  tickets, free, queue, waiters, meta
-- ARGV  1 limit, 0: not known (and, after a space, a clock: see clock.lua)   2 the caller's inbox channel, which ends in its name
--       3 the ids, at most 1000
-- Reply 'head|verdicts|grants', the head as in state.lua: a digit for each id, 1 was a live ticket, 0 was not; grants as in acquire.lua
-- Cost  O(log n) for each id, expired ticket and grant, and each freed permit

-- include: clock
local giving, listed = true, ARGV[3]
-- include: ids
local stored = call('HMGET', meta, 'state', 'limit', unpack(ids, 1, total))
-- include: state release-all records purge

local verdicts = string.rep(released == total and '1' or '0', total)
if released > 0 and released < total then
  local digits, seen = {}, {}
  for i = 1, total do
    local id = ids[i]
    digits[i], seen[id] = dropped[id] and not seen[id] and '1' or '0', true
  end
  verdicts = table.concat(digits)
end
if released == 0 then
  -- Whether a script may run at maxmemory is decided by its first write: this one takes no memory.
  call('PEXPIRE', meta, math.ceil(math.max(until_ - now, 0) / 1000 + DAY))
end
-- What was a ticket is not in the queue.
if waiting > 0 and released < total then
  local withdrawn = call('ZREM', queue, unpack(ids, 1, total))
  if withdrawn > 0 then
    waiting = waiting - withdrawn
    call('HDEL', meta, unpack(ids, 1, total))
  end
end
-- include: serve
-- include: write
return head .. '|' .. verdicts .. '|' .. told
