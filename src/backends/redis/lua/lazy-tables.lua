-- Fragment: a table of functions, which is filled when the first of them is called. To make all
-- functions of the slow paths would take as long as a slow path itself.
local LAZY = {
  __index = function(functions, name)
    local fill = rawget(functions, 1)
    setmetatable(functions, nil)
    fill(functions)
    return functions[name]
  end,
}
local function lazy(fill)
  return setmetatable({ fill }, LAZY)
end
