-- Fragment: the ids of the call. They stand in one argument, `listed`, with spaces between: taking it apart here
-- takes less than sending each by itself. Afterwards `ids` has `total` of them.
local ids, total = { listed }, 1
if string.find(listed, ' ', 1, true) then
  total = 0
  for id in string.gmatch(listed, '%S+') do
    total = total + 1
    ids[total] = id
  end
elseif listed == '' then
  ids, total = {}, 0
end
