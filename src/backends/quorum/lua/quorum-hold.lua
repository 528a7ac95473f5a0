-- Gives tickets slots on one master of a quorum, or renews them.
--
-- 1. The script drops expired tickets and reads the held slots.
-- 2. A call that comes too late, or that names a foreign set of nodes, takes no slot.
-- 3. Each request gets slots by its mode. A request gets none if a later attempt came before.
-- 4. Tokens only rise, above the highest token that any caller has named.
-- 5. The reply names free slots, so that the next try can aim at them.
--
-- KEYS  see quorum-store
-- ARGV  of each semaphore: 1 limit   2 ttl (microseconds)   3 not after (microseconds, or '')   4
--       claim, see quorum-sets; then for each request: id, mode, attempt, permits, slots as 0,3,7
--       or '', token (microseconds), label (without ; and |). Modes:
--       t takes that number of permits or none: these slots, then the lowest free slots; with this
--       token or a higher token
--       a takes these slots as far as they are free; with this token if it is the highest, else
--       with
--       a higher token
--       r takes these slots as far as they are free; with this token
--       e renews a ticket that is held
-- Reply of each semaphore 'last limit, if another|free slots|holding;holding…|sets as stored
--       before'. A holding is 'slots token attempt', or '' if no slot is held. 'late' if the call
--       came too late
-- Cost  O(slots held + permits + requests), and O(log slots held) for each permit

-- include: time quorum-store quorum-sets
local TAKE, AGAIN, RENEW = 't', 'a', 'e'

local function survey(sem)
  for _, member in ipairs(redis.call('ZRANGE', sem.slots, '0', '-1')) do
    sem.used[string.match(member, '^%d+') + 0], sem.count = true, sem.count + 1
  end
end

local function choose(sem, request)
  local chosen, own, is_take = {}, {}, request.mode == TAKE
  local fits = not is_take or sem.count + request.permits <= sem.limit
  for text in string.gmatch(fits and request.slots or '', '%d+') do
    -- In the Lua of ioredis-mock a sum with a text is a float, and 0 would become the text 0.0.
    local slot = math.floor(text + 0)
    if slot < sem.limit and not sem.used[slot] and not own[slot] and #chosen < request.permits then
      chosen[#chosen + 1], own[slot] = slot, true
    end
  end
  while is_take and fits and #chosen < request.permits do
    if not sem.used[sem.lowest] and not own[sem.lowest] then
      chosen[#chosen + 1] = sem.lowest
    end
    sem.lowest = sem.lowest + 1
  end
  table.sort(chosen)
  return chosen
end

local function renew(sem, ticket)
  for slot in string.gmatch(ticket.slots, '%d+') do
    sem.count = sem.count + redis.call('ZADD', sem.slots, sem.expiry, slot .. ' ' .. ticket.id)
    sem.used[slot + 0] = true
  end
  sem.changed = true
  return ticket
end

local function serve(sem, request)
  local before, mode = find(sem, request.id), request.mode
  if mode == RENEW then
    return before and renew(sem, before)
  elseif before and before.attempt > request.attempt then
    return nil
  elseif before and before.attempt == request.attempt and mode == TAKE then
    return before
  elseif before then
    clear(sem, before)
  end
  local chosen = choose(sem, request)
  if not chosen[1] then
    return nil
  elseif sem.count == 0 then
    redis.call('DEL', sem.meta)
  end
  local token = request.token + 0
  if mode == TAKE or mode == AGAIN and token <= sem.last then
    token = math.max(sem.last + 1, sem.now, token)
  end
  sem.last = math.max(sem.last, token)
  request.slots = table.concat(chosen, ',')
  request.text = request.slots .. string.format(' %d %d', token, request.attempt)
  local granted = mode ~= TAKE and before and before.granted or sem.now_text
  redis.call('HSET', sem.meta, request.id, request.text .. ' ' .. granted .. ' ' .. request.label)
  return renew(sem, request)
end

-- Keys live a second longer than the last ticket, and qmeta a day longer.
local function save(sem, limit, sets)
  redis.call('HSET', sem.meta, 'last', string.format('%d', sem.last), 'limit', limit, 'sets', sets)
  local latest = redis.call('ZRANGE', sem.slots, '-1', '-1', 'WITHSCORES')[2]
  local life = math.ceil((latest + 1000000 - sem.now) / 1000)
  redis.call('PEXPIRE', sem.slots, string.format('%d', life))
  redis.call('PEXPIRE', sem.meta, string.format('%d', life + 86400000))
end

local function free_slots(sem)
  local free, slot = {}, sem.lowest
  while slot < sem.limit and #free < MAX_FREE_SLOTS and sem.count < sem.limit do
    free[#free + 1] = not sem.used[slot] and slot or nil
    slot = slot + 1
  end
  return table.concat(free, ',')
end

local function hold(slots, meta, now_text, args)
  local sem, limit, ttl = open(slots, meta, now_text), args[1], args[2] + 0
  local is_take, holdings = args[6] == TAKE, {}
  local how, own = string.match(args[4], '^([!?])(.+)$')
  local is_refused = is_take and how == '!' and has_foreign(sem, own)
  if args[3] ~= '' and sem.now > args[3] + 0 then
    return 'late'
  elseif not is_take then
    -- The first write decides whether a script may run at maxmemory: this write takes no memory. A
    -- take that is refused writes nothing.
    redis.call('HDEL', meta, '')
  end
  survey(sem)
  local other = sem.count > 0 and sem.last_limit ~= limit and sem.last_limit or ''
  sem.limit, sem.expiry = limit + 0, string.format('%d', sem.now + ttl)
  for i = 5, #args, 7 do
    local request = { id = args[i], mode = args[i + 1], attempt = args[i + 2] + 0, permits = args[i + 3] + 0 }
    request.slots, request.token, request.label = args[i + 4], args[i + 5], args[i + 6]
    local ticket = not is_refused and serve(sem, request)
    holdings[#holdings + 1] = ticket and ticket.text or ''
  end
  if sem.changed then
    save(sem, limit, own and record_set(sem, own, ttl, not is_take) or sem.sets)
  end
  return table.concat({ other, is_take and free_slots(sem) or '', table.concat(holdings, ';'), sem.sets }, '|')
end

return run_on_each(KEYS, ARGV, now_text, hold)
