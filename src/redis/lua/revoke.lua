-- Takes a ticket from its holder, which hears of it by a push, or by the reply to its next extension.
--
-- KEYS  tickets, meta, queue
-- ARGV  1 what all inbox channels begin with   2 the caller's name   3 limit   4 id
-- Reply 'now|semaphore', the semaphore being 1 where it is revoked, now or before, 0 where there is none; and what slow.lua adds
-- Cost  O(log n) for each expired ticket and grant

-- include: time ids
local function make_slow(now_text, channels, client)
  -- include: slow slots serve
  -- In `meta`, 'revoked' is 'id expiry;…': until a ticket would have expired its holder may ask what became of it.
  function S.remembered(s)
    local kept = {}
    for entry, gone in string.gmatch(redis.call('HGET', s.meta, 'revoked') or '', '(%S+ (%d+);)') do
      if gone + 0 > s.now then
        kept[#kept + 1] = entry
      end
    end
    return table.concat(kept)
  end

  function S.revoke(s, id)
    redis.call('HDEL', s.meta, '')
    local record, known = s:records({ id }), s:remembered()
    local expiry = redis.call('ZSCORE', s.tickets, id)
    local _, dropped = s:drop({ id }, record)
    if dropped > 0 then
      s.add(s.fields, 'revoked', known .. id .. ' ' .. string.format('%d', expiry) .. ';')
      s:tell(string.match(id, '^[^.]+'), id .. ' revoked')
    end
    s:serve()
    local before = string.find(';' .. known, ';' .. id .. ' ', 1, true)
    return s:close((dropped > 0 or before) and '1' or '0')
  end
  return S
end

local now_text, problem = server_time()
if problem then
  return redis.error_reply(problem)
end
local slow = make_slow(now_text, ARGV[1], ARGV[2])
return now_text .. '|' .. slow:open(KEYS[1], KEYS[2], KEYS[3], ARGV[3]):revoke(ARGV[4])
