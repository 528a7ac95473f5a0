-- Fragment: the sets of nodes that this node is used in, `sets` in qmeta: 'until set;until set;'
-- (microseconds), with = before a set in which somebody has held a ticket. A set is its lists
-- with + between them, a list its nodes with , between. Sets with a list in common are compatible:
-- a caller that needs a majority of two lists has one of either. A claim is '' where the caller
-- names no set, else its set after how to record it: + where no foreign set is, ! instead of
-- foreign sets, ? never.

local function is_compatible(set, other)
  for list in string.gmatch(other, '[^+]+') do
    if string.find('+' .. set .. '+', '+' .. list .. '+', 1, true) then
      return true
    end
  end
end

-- What `sets` becomes when tickets were granted, or renewed: `holds`. Where the own set is not
-- recorded, foreign ones live in its place.
local function renew_sets(sem, claim, ttl, holds)
  local how, own = string.match(claim, '^([+!?])(.+)$')
  local renewed, is_recorded = (holds or how ~= '?') and sem.now + ttl or 0, how ~= '?'
  local own_till, own_mark = 0, holds and '=' or ''
  local others = string.gsub(sem.sets, '(%d+) (=?)([^;]+);', function(till, mark, set)
    local is_foreign = own and not is_compatible(own, set)
    if till + 0 <= sem.now or is_foreign and how == '!' then
      return ''
    elseif set == own then
      own_till, own_mark = till + 0, holds and '=' or mark
      return ''
    elseif is_foreign then
      is_recorded = false
      return string.format('%d ', math.max(till + 0, renewed)) .. mark .. set .. ';'
    end
  end)
  if own and (is_recorded or own_till > 0) then
    others = others .. string.format('%d ', math.max(own_till, renewed)) .. own_mark .. own .. ';'
  end
  return others
end
