-- Stores the limit that counts from now on for every process, and grants what it makes room for.
-- Nobody loses a permit when it shrinks. With 0 nobody gets one.
--
-- KEYS  tickets, meta, queue
-- ARGV  1 the caller's inbox channel   2 limit   3 the new limit, or a change of the one that
--       counts: '+2', '-1' 4 the id of the change, else ''   5 not after (microseconds, or '')
-- Reply see close.lua. The verdict is l when late; of a change the limit that it made, or x and the
--       limit where it would go below 0 or above 2^53 - 1 and nothing was changed; else ''
-- Cost  O(log n) for each expired ticket and grant

-- include: time semaphore serve close
-- The limit that a change makes, nil where it cannot be. 'changes' is 'id expiry limit;…': for a
-- minute a change that is sent again makes nothing new.
local function changed(s, change, id)
  local known = ''
  for entry, other, expiry, limit in string.gmatch(redis.call('HGET', s.meta, 'changes') or '', '((%S+) (%d+) (%d+);)') do
    if other == id then
      return limit
    end
    known = expiry + 0 > s.now and known .. entry or known
  end
  local limit = s.limit + change
  if limit < 0 or limit > 9007199254740991 then
    return nil
  end
  add(s.fields, 'changes', known .. id .. ' ' .. text_of(s.now + 60000000) .. ' ' .. text_of(limit) .. ';')
  return text_of(limit), true
end

local limit, id = ARGV[3], ARGV[4]
local late, is_new, verdict = ARGV[5] ~= '' and now_text > ARGV[5], id == '', ''
local s = open(KEYS[1], KEYS[2], KEYS[3], { inbox = ARGV[1], now = now_text, limit = ARGV[2] }, {})
if late then
  verdict = 'l'
elseif id ~= '' then
  limit, is_new = changed(s, limit, id)
  verdict = limit or 'x' .. text_of(s.limit)
end
if is_new and not late then
  s.stored, s.limit = limit, limit + 0
  s.told = s.stored ~= s.own and 's' .. s.stored or ''
  add(s.fields, 'stored', s.stored)
end
serve(s)
return now_text .. '|' .. close(s, verdict)
