-- Gives a ticket to another holder: it gets a new id and a new token and keeps its slots, so that its holder until now finds it gone. An id
-- that was adopted before leads to the ticket all the same: the later call wins.
--
-- KEYS  tickets, meta, queue
-- ARGV  1 what all inbox channels begin with   2 the caller's name   3 limit   4 ttl (microseconds)   5 label (without spaces, ; or |)
--       6 not after (microseconds, or '')   7 the id that is presented   8 the new id, which ends in ~ and the ticket's first id
-- Reply 'now|semaphore', the semaphore being 'slots token,id until now', '' when the ticket is gone, l when late; and what slow.lua adds
-- Cost  O(log n), and that for each expired ticket and grant; a call that runs twice changes nothing the second time

-- include: time ids
local function make_slow(now_text, channels, client)
  -- include: slow slots serve
  function S.ticket_of(s, id)
    return string.match(redis.call('HGET', s.meta, id) or '', '^([%d,-]+) (%d+) ')
  end

  -- The id that it has s.now. The field of ~ and a ticket's first id is the id that it has s.now; a ticket that has the very id that is
  -- presented comes before it. A call that runs again finds what it did the first time.
  function S.find(s, id, new_id)
    local origin = string.match(id, '~(.+)$') or id
    for _, one in ipairs({ new_id, id, redis.call('HGET', s.meta, '~' .. origin) or origin }) do
      if s:ticket_of(one) then
        return one
      end
    end
  end

  function S.adopt(s, late, ttl, label, id, new_id)
    local current = not late and s:find(id, new_id)
    if not current then
      s:serve()
      return s:close(late and 'l' or '')
    end
    local slots, token = s:ticket_of(current)
    s.add(s.adds, string.format('%d', s.now + ttl), new_id)
    s.ends = s.now + ttl
    if current ~= new_id then
      redis.call('ZREM', s.tickets, current)
      redis.call('HDEL', s.meta, current)
      s.last = math.max(s.last + 1, s.now)
      token = string.format('%d', s.last)
      s.add(s.fields, new_id, slots .. ' ' .. token .. ' ' .. label)
      s.add(s.fields, string.match(new_id, '~.+$'), new_id)
    end
    s:serve()
    local reply = s:close(slots .. ' ' .. token .. ':' .. current)
    if current ~= new_id then
      s:tell(string.match(current, '^[^.]+'), current .. ' adopted')
    end
    return reply
  end
  return S
end

local now_text, problem = server_time()
if problem then
  return redis.error_reply(problem)
end
local slow = make_slow(now_text, ARGV[1], ARGV[2])
local late = ARGV[6] ~= '' and now_text > ARGV[6]
local semaphore = slow:open(KEYS[1], KEYS[2], KEYS[3], ARGV[3])
return now_text .. '|' .. semaphore:adopt(late, ARGV[4], ARGV[5], ARGV[7], ARGV[8])
