-- Fragment of the slow paths: which slots are free, and how many permits each group holds, by the
-- records of all tickets.
-- include: records slots

local function recount(s)
  local records, firsts, finals, held, top = redis.call('HGETALL', s.info), {}, {}, {}, 0
  for i = 1, #records, 2 do
    local _, slots, _, group = ticket_of(records[i] ~= 'state' and records[i + 1])
    for range in string.gmatch(slots or '', '[%d-]+') do
      local first, final = ends_of(range)
      firsts[#firsts + 1], finals[first] = first, final
      held[group] = (held[group] or 0) + final - first + 1
    end
  end
  table.sort(firsts)
  redis.call('DEL', s.slots, s.groups)
  for _, first in ipairs(firsts) do
    if first > top then
      add_free(s, top, first - 1)
    end
    top = finals[first] + 1
  end
  s.top = top
  for group, permits in pairs(s.cap and held or {}) do
    redis.call('HSET', s.groups, group, text_of(permits))
  end
end
