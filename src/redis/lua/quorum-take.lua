-- Gives tickets slots on one master of a quorum: each as many as it asks for, or none.
--
-- KEYS  qslots, qmeta
-- ARGV  1 limit   2 ttl (ms)   3 not after (microseconds, or '')   4 label (without ; and |)
--       then for each request: id, attempt, permits, wanted token (microseconds), wanted slots as 0,3,7 or ''
-- Reply 'now other-limit-or-empty|free slots|verdict;verdict…', a verdict being 'slots token attempt' or ''; 'now|late' when too late
-- Cost  O(slots held) and O(log slots held) for each permit; a call that runs twice changes nothing the second time

-- include: quorum-clock
if ARGV[3] ~= '' and now > ARGV[3] * 1.0 then
  return now_text .. '|late'
end
local configured = call('HGET', meta, 'limit')
-- include: quorum-slots
local label, head = ARGV[4], now_text .. ' '
if count > 0 and configured and configured ~= ARGV[1] then
  head = head .. configured
end

local verdicts, taken = {}, false
for i = 5, #ARGV, 5 do
  local id, attempt, permits = ARGV[i], ARGV[i + 1] * 1.0, ARGV[i + 2] * 1.0
  local ticket = find_live(id)
  local verdict = ''
  if ticket and ticket.attempt >= attempt then
    verdict = ticket.attempt == attempt and describe(ticket) or ''
  else
    if ticket then
      release(ticket)
    end
    local chosen = {}
    if count + permits <= limit then
      local own = {}
      for slot in gmatch(ARGV[i + 4], '%d+') do
        slot = slot * 1.0
        if slot < limit and not used[slot] and not own[slot] and #chosen < permits then
          chosen[#chosen + 1], own[slot] = slot, true
        end
      end
      local slot = 0.0
      while #chosen < permits and slot < limit do
        if not used[slot] and not own[slot] then
          chosen[#chosen + 1] = slot
        end
        slot = slot + 1
      end
    end
    if #chosen == permits then
      table.sort(chosen)
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
  finish()
end

local free, slot = {}, 0.0
while slot < limit and #free < 32 and count < limit do
  if not used[slot] then
    free[#free + 1] = format('%d', slot)
  end
  slot = slot + 1
end
return head .. '|' .. table.concat(free, ',') .. '|' .. table.concat(verdicts, ';')
