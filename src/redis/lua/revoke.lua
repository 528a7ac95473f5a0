-- Takes a ticket from its holder, who is told so by a push, or by the reply to its next extension.
--
-- KEYS  tickets, free, queue, waiters, meta
-- ARGV  1 now (microseconds; '' on a real server)   2 limit   3 start of inbox channels   4 client   5 id
-- Reply 'head|verdict|grants', the head as in state.lua: 1 revoked, now or before, 0 not there; grants as in acquire.lua
-- Cost  O(log n) for each expired ticket and grant, and each freed permit

-- include: clock
local from, to, need, giving, verdicts = 5, 5, math.huge, true, {}
local expiry = call('ZSCORE', tickets, ARGV[5])
local stored = call('HMGET', meta, 'state', 'limit', ARGV[5])
-- include: state

-- In `meta`, 'revoked' is 'id expiry;…': until a ticket would have expired its holder may ask what became of it.
local known, kept, verdict = call('HGET', meta, 'revoked'), '', '0'
for id, gone in string.gmatch(type(known) == 'string' and known or '', '(%S+) (%d+);') do
  if gone * 1.0 > now then
    kept = kept .. id .. ' ' .. gone .. ';'
    verdict = id == ARGV[5] and '1' or verdict
  end
end
if dropped then
  verdict, kept = '1', kept .. ARGV[5] .. ' ' .. format('%.0f', expiry * 1.0) .. ';'
  fields[1], fields[2] = 'revoked', kept
end
-- include: serve
-- include: write
if dropped then
  redis.pcall('PUBLISH', ARGV[3] .. match(ARGV[5], '^[^.]+'), ARGV[5] .. ' revoked')
end
return head .. '|' .. verdict .. '|' .. told
