-- Fragment: `now_text`, the server's time in microseconds, a text of 16 digits: such are compared
-- as they are, as numbers cost more.
local time = redis.call('TIME')
-- Servers that only resemble Redis give scripts integers, or no time: nothing would ever expire. A
-- text with nothing added is itself, for less than a call of `type`.
if (time[2] or 0) .. '' ~= time[2] then
  error('REDSEM_TIME a ' .. type(time[2]))
end
local now_text = #time[2] == 6 and time[1] .. time[2] or string.format('%s%06d', time[1], time[2])
-- 16 digits from 2001 until 2286. Before 2020 the clock was never set.
if #now_text ~= 16 or now_text < '1577836800000000' then
  error('REDSEM_TIME ' .. now_text)
end
