-- Fragment: the keys of a semaphore that a call does not declare, see semaphore.lua. They
-- share the hash tag of `tickets`.
local function key_of(tickets, part)
  return string.sub(tickets, 1, -8) .. part
end
