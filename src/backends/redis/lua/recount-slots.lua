-- Fragment of the slow paths: which slots are free, and how many permits each group holds, by the
-- records of all tickets.
-- include: records slots

local function recount(s)
  local records, used, held, top = redis.call('HGETALL', s.info), {}, {}, 0
  for i = 1, #records, 2 do
    local _, slots, _, group = ticket_of(records[i] ~= 'state' and records[i + 1])
    for range in string.gmatch(slots or '', '[%d-]+') do
      local first, final = ends_of(range)
      used[#used + 1], held[group] = { first, final }, (held[group] or 0) + final - first + 1
    end
  end
  table.sort(used, function(one, other)
    return one[1] < other[1]
  end)
  redis.call('DEL', s.slots, s.groups)
  for i = 1, #used do
    if used[i][1] > top then
      add_free(s, top, used[i][1] - 1)
    end
    top = used[i][2] + 1
  end
  s.top = top
  for group, permits in pairs(s.cap and held or {}) do
    redis.call('HSET', s.groups, group, text_of(permits))
  end
end
