-- Fragment: the ids of the call. They stand in one argument, `listed`, with spaces between: taking it apart here
-- takes less than sending each by itself, and finding each space less than a pattern. Afterwards `ids` has `total` of them.
local ids, total = { listed }, 1
local find, sub, from = string.find, string.sub, 1
local space = find(listed, ' ', 1, true)
while space do
  ids[total], total = sub(listed, from, space - 1), total + 1
  from = space + 1
  space = find(listed, ' ', from, true)
end
if total > 1 then
  ids[total] = sub(listed, from)
elseif listed == '' then
  ids, total = {}, 0
end
