-- Fragment of acquire.lua: whether each of several semaphores is free.

-- In pairs, the token of each semaphore and the number of its tickets, unless these are now and 0;
-- false and 0 if the slow path must grant the permit. Or nil, and the number of the first semaphore
-- that is not free.
local function find_free(keys, args, inbox, now_text, period, read_usual, rules_or_slow)
  local found, total, at = {}, 0, 2
  while args[at] do
    local limit, ttl, text, token, held, more = args[at], args[at + 1] + 0, args[at + 4], nil, nil, nil
    at = at + 5
    repeat
      local tickets, info = keys[2 * total + 1], keys[2 * total + 2]
      total = total + 1
      if ttl <= LONG_TTL_US then
        token, held, more = read_usual(tickets, info, limit, now_text, period)
      end
      if not token or more or held > 0 and held >= limit + 0 then
        -- An expired ticket may hold the permit, a dead client may wait for it, or this call runs
        -- twice.
        local _, slow_paths = rules_or_slow()
        local _, is_free = slow_paths()
        local run = { inbox = inbox, now = now_text, limit = limit, ttl = ttl }
        if not is_free(tickets, info, text, run) then
          return nil, string.format('%d', total)
        end
        token, held = false, 0
      end
      if held ~= 0 or token ~= now_text then
        found[2 * total - 1], found[2 * total] = token, held
      end
      text, at = args[at] or '', at + 1
    until text == ''
  end
  return found
end

return find_free
