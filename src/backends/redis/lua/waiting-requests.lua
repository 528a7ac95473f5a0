-- Fragment of the slow paths: the requests that wait, as `requests` has them. `s` has `tickets`.
-- include: keys records

local function heads_of(s, priority)
  return key_of(s.tickets, 'flows:' .. text_of(priority))
end

local function flow_of(s, priority, group)
  return priority == 0 and group == '' and key_of(s.tickets, 'queue') or key_of(s.tickets, 'flow:' .. text_of(priority) .. ':' .. group)
end

-- Nil unless it is a request's record. `head`: its name as the head of its flow: between equal tags
-- arrival decides. `cost`: see fair-order.lua.
local function request_of(s, id, record)
  local arrival, life, label, priority, weight, group, costs =
    string.match(record or '', '^(%d*) (%d+) (%S*) ?(%d?) ?(%d*) ?(%S*) ?(%S*)$')
  if not arrival then
    return nil
  end
  local client, permits = parts_of(id)
  priority = tonumber(priority) or 0
  return {
    id = id, arrival = arrival, life = life + 0, label = label, client = client, permits = permits, priority = priority,
    group = group, costs = costs, flow = flow_of(s, priority, group), heads = heads_of(s, priority),
    head = arrival .. ' ' .. group, cost = math.floor(permits * 1000000 / (tonumber(weight) or 1)),
  }
end

-- The requests that wait, by arrival: the order of a large hash is another on each server.
local function requests_of(s)
  local records, requests = redis.call('HGETALL', s.requests), {}
  for i = 1, #records, 2 do
    requests[#requests + 1] = request_of(s, records[i], records[i + 1])
  end
  table.sort(requests, function(one, other) return one.arrival < other.arrival end)
  return requests
end
