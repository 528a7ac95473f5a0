-- Fragment: the server's time in microseconds, a text of 16 digits: such are compared as they are,
-- as numbers cost more.
local function server_time()
  local time = redis.call('TIME')
  local micros = time[2]
  -- Servers that only resemble Redis give scripts integers, or no time: nothing would ever expire.
  if type(micros) ~= 'string' then
    error('REDSEM_TIME a ' .. type(micros))
  end
  local text = #micros == 6 and time[1] .. micros or string.format('%s%06d', time[1], micros)
  -- 16 digits from 2001 until 2286. Before 2020 the clock was never set.
  if #text ~= 16 or text < '1577836800000000' then
    error('REDSEM_TIME ' .. text)
  end
  return text
end
