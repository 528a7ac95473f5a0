-- Gives tickets slots on one master of a quorum: each as many as it asks for, or none.
--
-- KEYS  qslots, qmeta
-- ARGV  1 limit   2 ttl (ms)   3 not after (microseconds, or '')   4 claim, see quorum-set   5 label (without ; and |)
--       then for each request: id, attempt, permits, wanted token (microseconds), wanted slots as 0,3,7 or ''
-- Reply 'now other-limit-or-empty|free slots|verdict;verdict…|set;set…', a verdict being 'slots token attempt' or ''; 'now|late' when too late
-- Cost  O(slots held + permits + requests), and O(log slots held) for each permit; a call that runs twice changes nothing the second time

-- include: quorum-clock
if ARGV[3] ~= '' and now > ARGV[3] * 1.0 then
  return now_text .. '|late'
end
local configured = call('HGET', meta, 'limit')
-- include: quorum-slots
local claim = ARGV[4]
-- include: quorum-set
local label, head = ARGV[5], now_text .. ' '
if count > 0 and configured and configured ~= ARGV[1] then
  head = head .. configured
end

-- Below `lowest` no slot is free: the requests of one call do not begin to look anew.
local verdicts, taken, lowest = {}, false, 0.0
for i = 6, #ARGV, 5 do
  local id, attempt, permits = ARGV[i], ARGV[i + 1] * 1.0, ARGV[i + 2] * 1.0
  local ticket = find_live(id)
  local verdict = ''
  if ticket and ticket.attempt >= attempt then
    verdict = ticket.attempt == attempt and describe(ticket) or ''
  else
    if ticket then
      release(ticket)
      lowest = 0.0
    end
    local chosen, aimed = {}, ARGV[i + 4] ~= ''
    if count + permits <= limit then
      local own_slots = {}
      for slot in gmatch(ARGV[i + 4], '%d+') do
        slot = slot * 1.0
        if slot < limit and not used[slot] and not own_slots[slot] and #chosen < permits then
          chosen[#chosen + 1], own_slots[slot] = slot, true
        end
      end
      local slot, missing = lowest, permits - #chosen
      while missing > 0 and slot < limit do
        if not used[slot] and not own_slots[slot] then
          chosen[#chosen + 1] = slot
          missing = missing - 1
        end
        slot = slot + 1
      end
      -- What it aimed at lies behind, too, and is not free any more; but nothing is passed over that was not looked at.
      lowest = slot
    end
    if #chosen == permits then
      if aimed then
        table.sort(chosen)
      end
      -- Where nothing was held, nothing but the last token is worth keeping.
      if count == 0 then
        call('DEL', meta)
      end
      ticket = { id = id, attempt = attempt, token = next_token(ARGV[i + 3] * 1.0), granted = now_text, label = label }
      occupy(ticket, chosen)
      verdict, taken = describe(ticket), true
    end
  end
  verdicts[#verdicts + 1] = verdict
end
-- A refusal writes nothing, so that a full server does not keep anybody from hearing it.
if taken then
  finish(set_record(false))
end

local free, slot = {}, lowest
while slot < limit and #free < 32 and count < limit do
  if not used[slot] then
    free[#free + 1] = format('%d', slot)
  end
  slot = slot + 1
end
return head .. '|' .. table.concat(free, ',') .. '|' .. table.concat(verdicts, ';') .. '|' .. table.concat(told, ';')
