-- Fragment: the keys of a semaphore beside those that a call declares, see semaphore.lua. They
-- share the hash tag of `tickets`.
local function key_of(tickets, part)
  return string.sub(tickets, 1, -8) .. part
end
