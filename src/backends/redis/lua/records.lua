-- Fragment of the slow paths: how ids, records and lists are read and written.
local function text_of(number)
  return string.format('%d', number)
end

local function add(list, first, second)
  local size = #list
  list[size + 1], list[size + 2] = first, second
end

-- Lua's stack carries no more than a few thousand arguments.
local function write(list, command, key)
  for first = 1, #list, 4000 do
    redis.call(command, key, unpack(list, first, math.min(first + 3999, #list)))
  end
end

-- The client of an id, and its permits. An adopted ticket's id continues with ~.
local function parts_of(id)
  local client, permits = string.match(id, '^([^.]*)%.?[^.~]*%.?(%d*)')
  return client, permits == '' and 1 or permits + 0
end

-- Of a ticket's record 'slots token', slots, token, group and charges, else nil.
local function ticket_of(record)
  return string.match(record or '', '^(([%d,-]+) (%d+)) %S* ?(%S*) ?(%S*)$')
end
