-- Fragment of acquire.lua: the token of each semaphore and how many are held, false and -1 where it was never used; or the number of the
-- first that is not plainly free.
local function look_at_all(now_text, period)
  local found, total, at = {}, 0, 2
  while ARGV[at] do
    local limit, ttl = ARGV[at], ARGV[at + 1] + 0
    at = at + 4
    while (ARGV[at] or '') ~= '' do
      local key = 3 * total + 1
      local token, held, state, waiting = look(KEYS[key], KEYS[key + 1], limit, ttl, now_text, period)
      total, at = total + 1, at + 1
      local never = held == -1 and not state and redis.call('EXISTS', KEYS[key + 1], KEYS[key + 2]) == 0
      if not never and (not token or waiting > 0 or held > 0 and held >= limit + 0) then
        return nil, string.format('%d', total)
      end
      found[2 * total - 1], found[2 * total] = token or false, held
    end
    at = at + 1
  end
  return found
end
