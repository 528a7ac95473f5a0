-- Fragment: the ids in a text, with spaces between.
local function ids_in(text)
  local ids, total = {}, 0
  for id in string.gmatch(text, '%S+') do
    total = total + 1
    ids[total] = id
  end
  return ids
end
