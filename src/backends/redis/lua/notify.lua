-- Fragment: a message to a client, 'id slots token expiry;…|name', the name as in the keys. A hint:
-- if the user has no right to publish, waiters find their grant by asking.
local function tell(inbox, tickets, client, lines)
  local channel = string.match(inbox, '^.*:') .. client
  pcall(redis.call, 'PUBLISH', channel, lines .. '|' .. string.match(tickets, '{([^{}]*)}[^{}]*$'))
end
