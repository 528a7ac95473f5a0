-- Stores the limit that counts from now on for every process, and grants what it makes room for. Nobody loses
-- a permit when it shrinks.
--
-- KEYS  tickets, meta, queue
-- ARGV  1 the caller's inbox channel   2 limit   3 the new limit   4 not after (microseconds, or '')
-- Reply see close.lua. The verdict is '', l when late
-- Cost  O(log n) for each expired ticket and grant

-- include: time semaphore serve close
local late = ARGV[4] ~= '' and now_text > ARGV[4]
local s = open(KEYS[1], KEYS[2], KEYS[3], { inbox = ARGV[1], now = now_text, limit = ARGV[2] }, {})
if not late then
  s.stored, s.limit = ARGV[3], ARGV[3] + 0
  s.told = s.stored ~= s.own and 's' .. s.stored or ''
  add(s.fields, 'stored', s.stored)
end
serve(s)
return now_text .. '|' .. close(s, late and 'l' or '')
