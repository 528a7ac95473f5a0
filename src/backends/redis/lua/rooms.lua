-- Fragment: a room of functions, which is filled when the first of them is called. To make all
-- functions of the slow paths would take as long as a slow path itself.
local ROOM = {
  __index = function(room, name)
    local fill = rawget(room, 1)
    setmetatable(room, nil)
    fill(room)
    return room[name]
  end,
}
local function room(fill)
  return setmetatable({ fill }, ROOM)
end
