-- Renews tickets on one master of a quorum, and puts them where a majority wants them.
--
-- KEYS  qslots, qmeta
-- ARGV  1 limit   2 ttl (ms)   3 not after (microseconds, or '')   4 claim, see quorum-set
--       then for each request: id, mode, attempt, slots as 0,3,7 or '', token, label (without ; and |). Modes: e extends what is held; a wants exactly these
--       slots as far as they are free, and this token if it has it already with those slots or it is higher than any, else a higher one;
--       r wants exactly these slots as far as they are free, and exactly this token
-- Reply 'now|holding;holding…|set;set…', a holding being 'slots token attempt', '' where nothing is held; 'now|late' when too late
-- Cost  O(slots held) and O(log slots held) for each permit

-- include: quorum-clock
if ARGV[3] ~= '' and now > ARGV[3] * 1.0 then
  return now_text .. '|late'
end
-- Whether a script may run at maxmemory is decided by its first write: this one takes no memory.
call('PEXPIRE', meta, format('%.0f', DAY + ARGV[2]))
-- include: quorum-slots
local claim = ARGV[4]
-- include: quorum-set

local holdings, found = {}, false
for i = 5, #ARGV, 6 do
  local id, mode, attempt, wanted, token = ARGV[i], ARGV[i + 1], ARGV[i + 2] * 1.0, ARGV[i + 3], ARGV[i + 4]
  local label = ARGV[i + 5]
  local ticket = find_live(id)
  if mode == 'e' then
    if ticket then
      for slot in gmatch(ticket.slots, '%d+') do
        call('ZADD', slots, expiry, slot)
      end
    end
  elseif ticket and ticket.attempt > attempt then
    ticket = nil
  else
    local before, had = ticket, {}
    if before then
      for slot in gmatch(before.slots, '%d+') do
        had[slot * 1.0] = true
      end
      release(before)
    end
    local chosen = {}
    for slot in gmatch(wanted, '%d+') do
      slot = slot * 1.0
      if slot < limit and not used[slot] then
        chosen[#chosen + 1] = slot
      end
    end
    ticket = nil
    if #chosen > 0 then
      -- A token that is older than the slot might be lower than that of somebody who had the slot in between.
      local same = before and before.token == token
      for i = 1, #chosen do
        same = same and had[chosen[i]]
      end
      if mode == 'r' then
        last = math.max(last, token * 1.0)
      elseif not same and token * 1.0 > last then
        last = token * 1.0
      elseif not same then
        token = next_token(0)
      end
      ticket = { id = id, attempt = attempt, token = token, granted = before and before.granted or now_text, label = label }
      occupy(ticket, chosen)
    end
  end
  found = found or ticket ~= nil
  holdings[#holdings + 1] = ticket and describe(ticket) or ''
end
if found then
  finish(set_record(true))
end
return now_text .. '|' .. table.concat(holdings, ';') .. '|' .. table.concat(told, ';')
