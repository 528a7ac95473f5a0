-- Gives tickets back on one master of a quorum.
--
-- 1. The script drops expired tickets.
-- 2. It drops each ticket with all its slots, unless an attempt later than the caller's made it.
-- 3. After the last ticket the key of the records stays for a day.
-- 4. The caller's set of nodes is proven if the caller held a ticket, else the script forgets it.
-- 5. A second run finds no ticket.
--
-- KEYS  see quorum-store
-- ARGV  of each semaphore: the caller's set, after = if the tickets were held, after - if they were
--       never held, or ''; then for each ticket: id, the last attempt to drop, or '' for any
-- Reply of each semaphore a digit for each ticket: 1 was live, 0 was not
-- Cost  O(log slots held) for each permit

-- include: time quorum-store
local function drop(slots, meta, now_text, args)
  local sem, digits = open(slots, meta, now_text), {}
  for i = 2, #args, 2 do
    local ticket = find(sem, args[i])
    local mine = ticket and (args[i + 1] == '' or ticket.attempt <= args[i + 1] + 0)
    if mine then
      clear(sem, ticket)
    end
    digits[#digits + 1] = mine and '1' or '0'
  end
  local dropped, empty = table.concat(digits), redis.call('ZCARD', slots) == 0
  if empty then
    redis.call('PEXPIRE', meta, '86400000')
  end
  local origin, own = string.match(args[1], '^([=-])(.+)$')
  if origin == '=' and string.find(dropped, '1') or origin == '-' and empty then
    -- A set in which a ticket was held becomes proven. The script forgets any other set.
    local sets = string.gsub(sem.sets, SET, function(till, proven, set)
      if set == own then
        return origin == '=' and till .. ' =' .. set .. ';' or proven == '' and '' or nil
      end
    end)
    if sets ~= sem.sets then
      redis.call('HSET', meta, 'sets', sets)
    end
  end
  return dropped
end

return run_on_each(KEYS, ARGV, now_text, drop)
