-- Fragment of acquire.lua: whether each of several semaphores is free.

-- Whether one is. In the usual case also its token and how many are held.
local function is_free_now(tickets, info, text, run, period, read_usual, rarer_paths)
  local token, held, more = nil, nil, nil
  if run.ttl <= LONG_TTL_US then
    token, held, more = read_usual(tickets, info, run.limit, run.now, period)
  end
  if token and not more and (held < 1 or held < run.limit + 0) then
    return true, token, held
  end
  -- What has expired may hold the permit, a dead client wait for it, or this call run twice.
  local _, slow_paths = rarer_paths()
  local _, is_free = slow_paths()
  return is_free(tickets, info, string.match(text, '[^?]*$'), run)
end

-- The token of each and how many are held, where that is not now and none; false and 0 where the
-- slow path must grant it. Or nil, and the number of the first that is not free.
local function find_free(keys, args, inbox, now_text, period, read_usual, rarer_paths)
  local found, total, at = {}, 0, 2
  while args[at] do
    local run, text = { inbox = inbox, now = now_text, limit = args[at], ttl = args[at + 1] + 0 }, args[at + 4]
    at = at + 5
    repeat
      total = total + 1
      local free, token, held = is_free_now(keys[2 * total - 1], keys[2 * total], text, run, period, read_usual, rarer_paths)
      if not free then
        return nil, string.format('%d', total)
      elseif held ~= 0 or token ~= now_text then
        found[2 * total - 1], found[2 * total] = token or false, held or 0
      end
      text, at = args[at] or '', at + 1
    until text == ''
  end
  return found
end

return find_free
