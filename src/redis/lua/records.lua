-- Fragment: of the tickets among the ids, has each its record? Where an old `meta` was restored alone it may count as many as
-- there are, of which it has none: nobody could give those back, and the permits of others would seem to be taken until they
-- expire. Then all is counted anew.
--
-- Before it: `ids`, `total` of them, `stored` (state, limit and the fields of those ids).
local bare, bares = nil, 0
for i = 1, known_state and total or 0 do
  local record = stored[i + 2]
  -- That of a waiting request is its label, which has no space.
  if type(record) ~= 'string' or not match(record, ' ') then
    bare, bares = bare or {}, bares + 1
    bare[bares] = ids[i]
  end
end
if bare then
  local scores = call('ZMSCORE', tickets, unpack(bare))
  for i = 1, bares do
    known_state = known_state and type(scores[i]) ~= 'string'
  end
end
