-- Fragment of release.lua: tickets and requests of any semaphore.
-- include: semaphore settle-spent close
local function give_back(tickets, info, ids, run, spent)
  local s, verdicts = open(tickets, info, run), {}
  local gone, dropped = drop(s, ids)
  local records = s.waiting > 0 and dropped < #ids and redis.call('HMGET', s.requests, unpack(ids)) or {}
  for i, id in ipairs(ids) do
    verdicts[i] = gone[id] and '1' or '0'
    if gone[id] and spent then
      settle(s, string.match(gone[id], '[^ ]*$'), spent[i])
    elseif records[i] then
      leave_queue(s, request_of(s, id, records[i]))
    end
  end
  return close(s, table.concat(verdicts))
end

return give_back
