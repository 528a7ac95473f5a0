-- Prelude for ioredis-mock, whose Lua has 32-bit integers, no cjson, arrays in arrays that begin at
-- 0, null where a key does not exist, and a TIME that runs backwards; and for tests that bring
-- their own time. The last argument is the time in microseconds.
local own_redis, own_string, now_passed = redis, string, table.remove(ARGV)

-- `is_inner`: it is in another array.
local function plain(value, is_inner)
  local kind = type(value)
  if kind == 'string' or kind == 'number' or kind == 'boolean' then
    return value
  end
  -- Its null has no length.
  local is_array, size = pcall(function()
    return #value
  end)
  if not is_array then
    return false
  end
  local list, from = {}, is_inner and value[0] ~= nil and 0 or 1
  for i = 1, size do
    list[i] = plain(value[i - 1 + from], true)
  end
  return list
end

local redis = { pcall = own_redis.pcall }
function redis.call(command, ...)
  if command == 'TIME' then
    return { own_string.sub(now_passed, 1, -7), own_string.sub(now_passed, -6) }
  end
  return plain(own_redis.call(command, ...))
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
