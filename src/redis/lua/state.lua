-- Fragment: what the last call knew.
--
-- In `meta`: 'state' is 'last held until limit' and, unless that tells all, ' top gaps count waiting'. `last`: the last
-- fencing token or arrival number. `held`: permits. No key is needed after `until`, `meta` a day longer. `limit`: that of the
-- last caller. The field 'limit' is what setLimit stored. `top`: how many slots were ever in use at once: slots 0 .. top-1
-- are held or in `free`, which has ranges of slots, '7' or '7-9', by their first; `gaps`: how many ranges. The lowest free
-- slot is the first of `free`, else `top` itself. `count`: tickets. `waiting`: requests in `queue`.
-- The field of a ticket's id is 'slots token granted label', its slots written as 0,3,7-9; that of a waiting request's id
-- is its label.
--
-- Before it: `stored`, whose first two entries are state and limit. An entry that a key does not have is false, and a
-- JavaScript null in ioredis-mock: hence type(…) == 'string'.

local last, top, held, count, waiting, until_, gaps = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
local last_text, held_text, until_text, configured, rest, known_state, client = '0', '0', '0', '', nil, false, nil
if type(stored[1]) == 'string' then
  last_text, held_text, until_text, configured, rest = match(stored[1], '^(%d+) (%d+) (%d+) (%d+)(.*)$')
  known_state = last_text ~= nil
  if known_state then
    last, held, until_ = last_text * 1.0, held_text * 1.0, until_text * 1.0
    top, count = held, held
    if rest ~= '' then
      top, gaps, count, waiting = match(rest, '^ (%d+) (%d+) (%d+) (%d+)$')
      known_state = top ~= nil
      if known_state then
        top, gaps, count, waiting = top * 1.0, gaps * 1.0, count * 1.0, waiting * 1.0
      end
    end
  end
  if not known_state then
    -- Something else wrote it: all is counted anew.
    last, top, held, count, waiting, until_, gaps = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    last_text, until_text, configured = '0', '0', ''
  end
end

if own_limit == '0' then
  -- Of somebody who gives back what he has no semaphore for. Where nothing is known of the limit, the lowest.
  own_limit = configured == '' and '1' or configured
  limit = own_limit * 1.0
end

-- What the caller is told of the limit where its own is not the one that counts, or not the only one.
local head = now_text
if type(stored[2]) == 'string' then
  limit = stored[2] * 1.0
  head = stored[2] ~= own_limit and now_text .. ' stored ' .. stored[2] or head
elseif configured ~= own_limit and count + waiting > 0 then
  head = now_text .. ' other ' .. configured
end
