-- Stores the rate that counts from now on for every process, and grants what it allows.
--
-- 1. What was used of the rate before it stays used.
-- 2. With 'none' nobody is held back, whatever rate callers name.
-- 3. It counts until another is stored.
-- 4. The queue is served under the new rate.
-- 5. A second run changes nothing.
--
-- KEYS  tickets, info, see semaphore.lua
-- ARGV  1 the caller's inbox channel   2 limit   3 the new rate, see rate.lua, or 'none'
--       4 not after (microseconds, or '')
-- Reply see close.lua. The verdict is l when late, else ''
-- Cost  O(log n) for each expired ticket and grant

-- include: time semaphore serve close
-- With 'none' nobody is held back, whatever callers name.
local function store_rate(s, text)
  if text == 'none' then
    s.rate, s.old_rate, s.no_rate = nil, nil, true
  else
    use_rate(s, text, '')
  end
end

local late = ARGV[4] ~= '' and now_text > ARGV[4]
local s = open(KEYS[1], KEYS[2], { inbox = ARGV[1], now = now_text, limit = ARGV[2] }, {})
if not late then
  store_rate(s, ARGV[3])
end
serve(s)
return now_text .. '|' .. close(s, late and LATE or '')
