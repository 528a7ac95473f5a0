-- Stores a rate, a budget, or a cap of groups that counts from now on for every process, and grants
-- the permits that it allows.
--
-- 1. Units that were used under the terms before stay used.
-- 2. The amount 0, and the cap 0, hold no request back, whatever callers name.
-- 3. It counts until another is stored.
-- 4. The queue is served under it.
-- 5. A second run changes nothing.
-- 6. If as many budgets count as may, another is refused, and nothing is stored.
--
-- KEYS  tickets, info, see semaphore.lua
-- ARGV  1 the caller's inbox channel   2 limit   3 'rate', 'cap', or 'budget:' and its name
--       4 the new terms, see gcra.lua and caps.lua; '0,1,0' for no rate or budget, '0' for no cap
--       5 not after (microseconds, or '')
-- Reply see close.lua. The verdict is l when late; x and the budgets that count, 'xa,b,c,d',
--       if another was refused; else ''
-- Cost  O(log n) for each expired ticket and grant; of a first cap, or none, O(tickets), and
--       of a higher cap O(waiting requests)

-- include: change rate
local what, terms, budget = ARGV[3], ARGV[4], string.match(ARGV[3], '^budget:(.*)$')
-- The names of the budgets that count.
local names, known = {}, s.meters[budget]
for name, m in pairs(s.meters) do
  names[#names + 1] = m.is_on and name ~= '' and name or nil
end
local is_full = #names >= MOST_BUDGETS and budget and terms ~= '0,1,0' and not (known and known.is_on)
if what == 'cap' then
  use_cap(s, terms ~= '0' and tonumber(terms), 'NEVER')
elseif not is_full then
  use_terms(s, budget or '', terms, 'NEVER')
end
table.sort(names)
return now_text .. '|' .. close(s, is_full and REFUSED .. table.concat(names, ',') or '')
