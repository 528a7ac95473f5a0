-- Fragment of acquire.lua: the token of each semaphore and how many are held, where that is not now
-- and none. Or the number of the first that is not plainly free.

local function look_at_all(keys, args, now_text, period)
  local found, total, at = {}, 0, 2
  while args[at] do
    local limit, ttl = args[at], args[at + 1] + 0
    at = at + 5
    repeat
      local key = 3 * total + 1
      local token, held, waiting = look(keys[key], keys[key + 1], keys[key + 2], limit, ttl, now_text, period)
      total = total + 1
      if not token or waiting > 0 or held > 0 and held >= limit + 0 then
        -- A call that runs twice finds what it took.
        local expiry = call('ZSCORE', keys[key], string.match(args[at - 1], '[^?]*$'))
        if not expiry or expiry + 0 <= now_text + 0 then
          return nil, string.format('%d', total)
        end
      elseif held ~= 0 or token ~= now_text then
        found[2 * total - 1], found[2 * total] = token, held
      end
      at = at + 1
    until (args[at - 1] or '') == ''
  end
  return found
end
