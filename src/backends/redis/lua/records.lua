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

-- Nil unless it is a request's record.
local function request_of(id, record)
  local arrival, life, label, priority, weight, group, costs =
    string.match(record or '', '^(%d*) (%d+) (%S*) ?(%d?) ?(%d*) ?(%S*) ?(%S*)$')
  if not arrival then
    return nil
  end
  local client, permits = parts_of(id)
  return {
    id = id, arrival = arrival, life = life + 0, label = label, client = client, permits = permits, group = group,
    priority = (tonumber(priority) or 0), weight = weight == '' and '1' or weight, costs = costs,
  }
end

-- The requests that wait.
local function requests_of(s)
  local records, requests = redis.call('HGETALL', s.requests), {}
  for i = 1, #records, 2 do
    requests[#requests + 1] = request_of(records[i], records[i + 1])
  end
  return requests
end
