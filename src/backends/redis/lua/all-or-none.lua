-- Fragment of acquire.lua: the token of each semaphore and how many are held, where that is not now
-- and none; false where the slow path must grant it. Or the number of the first that is not free.

-- Nil where it is not free.
local function look_at(tickets, meta, queue, text, run, period, slow_paths)
  local token, held, waiting = look(tickets, meta, queue, run.limit, run.ttl, run.now, period)
  if token and waiting == 0 and (held < 1 or held < run.limit + 0) then
    return token, held
  end
  -- A call that runs twice finds what it took.
  local id = string.match(text, '[^?]*$')
  local expiry = call('ZSCORE', tickets, id)
  if expiry and expiry + 0 > run.now + 0 then
    return run.now, 0
  elseif token and held >= run.limit + 0 then
    return nil
  end
  -- Not the usual case: what has expired may hold the permit, or a dead client wait for it.
  local _, is_free = slow_paths()
  return is_free(tickets, meta, queue, id, run) and 'slow', 0
end

local function look_at_all(keys, args, inbox, now_text, period, slow_paths)
  local found, total, at = {}, 0, 2
  while args[at] do
    local life = args[at + 1]
    local run = { inbox = inbox, now = now_text, limit = args[at], ttl = life + 0, life = life, label = args[at + 2] }
    at = at + 5
    repeat
      local key = 3 * total + 1
      local token, held = look_at(keys[key], keys[key + 1], keys[key + 2], args[at - 1], run, period, slow_paths)
      total = total + 1
      if not token then
        return nil, string.format('%d', total)
      elseif held ~= 0 or token ~= now_text then
        found[2 * total - 1], found[2 * total] = token ~= 'slow' and token, held
      end
      at = at + 1
    until (args[at - 1] or '') == ''
  end
  return found
end
