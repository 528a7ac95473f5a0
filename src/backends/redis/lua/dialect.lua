-- Prelude for ioredis-mock, whose Lua has 32-bit integers, no cjson, and arrays and null of
-- JavaScript, and whose TIME runs backwards; and for tests that bring their own time. The last
-- argument is the time in microseconds.
local own_redis, own_string, now_passed = redis, string, table.remove(ARGV)

-- An array of JavaScript is a list, its null is false. `first`: where the array begins.
local function plain(value, first)
  if type(value) ~= 'userdata' then
    return value
  end
  local list = {}
  return pcall(function()
    for i = 1, #value do
      list[i] = plain(value[first + i - 1], 0)
    end
  end) and list
end

local redis = {}
function redis.call(command, ...)
  if command == 'TIME' then
    return { own_string.sub(now_passed, 1, -7), own_string.sub(now_passed, -6) }
  end
  return plain(own_redis.call(command, ...), 1)
end

local string = setmetatable({}, { __index = own_string })
function string.format(pattern, ...)
  return own_string.format((own_string.gsub(pattern, '%%d', '%%.0f')), ...)
end

local cjson = {}
function cjson.decode(text)
  local list = {}
  for item in own_string.gmatch(text, '[^%[%]",]+') do
    list[#list + 1] = item
  end
  return list
end
