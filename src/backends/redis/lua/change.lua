-- Fragment: how each script begins that changes one semaphore. `s`: the semaphore as the call finds
-- it. A call that is late changes nothing.
-- include: time semaphore close
local s = open(KEYS[1], KEYS[2], { inbox = ARGV[1], now = now_text, limit = ARGV[2] })
-- An operator may know the stored limit alone: its call says nothing of the limit that others are
-- made with.
s.own = s.configured == '' and s.own or s.configured
if ARGV[5] ~= '' and now_text > ARGV[5] then
  return now_text .. '|' .. close(s, LATE)
end
