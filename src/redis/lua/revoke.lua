-- Takes a ticket from its holder, who is told so by a push, or by the reply to its next extension.
--
-- KEYS  tickets, free, queue, waiters, meta
-- ARGV  1 limit (and, after a space, a clock: see clock.lua)   2 the caller's inbox channel, which ends in its name
--       3 id
-- Reply 'head|verdict|grants', the head as in state.lua: 1 revoked, now or before, 0 not there; grants as in acquire.lua
-- Cost  O(log n) for each expired ticket and grant, and each freed permit

-- include: clock
local ids, total, giving, verdicts, listed = { ARGV[3] }, 1, true, {}, ARGV[3]
local expiry = call('ZSCORE', tickets, ARGV[3])
local stored = call('HMGET', meta, 'state', 'limit', ARGV[3])
-- include: state records purge

-- In `meta`, 'revoked' is 'id expiry;…': until a ticket would have expired its holder may ask what became of it.
local known, kept, verdict = call('HGET', meta, 'revoked'), {}, '0'
for entry, id, gone in string.gmatch(type(known) == 'string' and known or '', '((%S+) (%d+);)') do
  if gone * 1.0 > now then
    kept[#kept + 1] = entry
    verdict = id == ARGV[3] and '1' or verdict
  end
end
if released > 0 then
  verdict, kept[#kept + 1] = '1', ARGV[3] .. ' ' .. format('%.0f', expiry * 1.0) .. ';'
  fields, filled = { 'revoked', table.concat(kept) }, 2
end
-- include: serve
-- include: write
if released > 0 then
  local source = '|' .. match(meta, '{([^{}]*)}[^{}]*$')
  redis.pcall('PUBLISH', match(ARGV[2], '^.*:') .. match(ARGV[3], '^[^.]+'), ARGV[3] .. ' revoked' .. source)
end
return head .. '|' .. verdict .. '|' .. told
