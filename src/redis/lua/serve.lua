-- Fragment: grants from the head of the queue for as long as the permits last.
--
-- A dead process's requests are dropped; one that asks for more than a limit that has since shrunk is stepped
-- over; any other that does not fit blocks those behind it, so that small requests cannot starve it.
if waiting > 0 and held < limit then
  client = client or match(ARGV[2], '[^:]*$')
  local alive, skipped = { [client] = own ~= nil }, 0
  while waiting > skipped and held < limit and not blocked do
    local size = math.min(limit - held, 500)
    local heads = call('ZRANGE', queue, format('%d', skipped), format('%d', skipped + size - 1))
    local stored_labels = #heads > 0 and call('HMGET', meta, unpack(heads))
    local leaving, left, dead, died = {}, 0, nil, 0
    for i = 1, #heads do
      local id = heads[i]
      local who, permits = match(id, '^([^.]+)%.[^.~]+%.?(%d*)$')
      if not who then
        -- Of an adopted ticket, or none of ours: that is dropped like those of the dead.
        who, permits = match(id, '^([^.]+)%.[^.~]+%.?(%d*)~')
      end
      who, permits = who or id, (permits or '') == '' and 1 or permits * 1.0
      if not alive[who] then
        local lease = call('ZSCORE', waiters, who)
        alive[who] = type(lease) == 'string' and lease * 1.0 > now
      end
      if not alive[who] then
        left, died, dead = left + 1, died + 1, dead or {}
        leaving[left], dead[died] = id, id
      elseif permits > limit then
        skipped = skipped + 1
      elseif held + permits > limit then
        blocked = true
        break
      else
        left, granted, held, wanted = left + 1, granted + 1, held + permits, wanted + permits
        leaving[left] = id
        grant_ids, labels, places = grant_ids or {}, labels or {}, places or {}
        grant_ids[granted], places[granted] = id, own and own[id]
        labels[granted] = type(stored_labels[i]) == 'string' and stored_labels[i] or '?'
        if permits > 1 then
          weights = weights or {}
          weights[granted] = permits
        end
      end
    end
    if left > 0 then
      waiting = waiting - call('ZREM', queue, unpack(leaving))
    elseif #heads == 0 then
      waiting = call('ZCARD', queue) * 1.0
      break
    end
    if dead then
      call('HDEL', meta, unpack(dead))
    end
  end
end
