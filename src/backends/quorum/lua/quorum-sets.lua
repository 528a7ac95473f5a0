-- Fragment: the sets of nodes in which this node is used, `sets` in qmeta: 'until set;until set;'
-- (microseconds), with = before a set in which a ticket was held. A set is its lists with + between
-- them, a list its nodes with , between them. Sets with a list in common are compatible: a caller
-- that needs a majority of two lists has a majority of either. Other sets are foreign to each
-- other.
-- A claim is '' if the caller names no set. Else it is the set, after ! if the node refuses the
-- caller while a foreign set is in use, or after ? if it does not.

local function is_foreign(set, own)
  for list in string.gmatch(set, '[^+]+') do
    if string.find('+' .. own .. '+', '+' .. list .. '+', 1, true) then
      return false
    end
  end
  return true
end

local function has_foreign(sem, own)
  for _, _, set in string.gmatch(sem.sets, SET) do
    if is_foreign(set, own) then
      return true
    end
  end
end

-- Gives `sets` after a grant, or after a renewal: `holds`. A foreign set stays, and the caller's
-- set is not recorded beside it. But a holder replaces foreign sets that never held a ticket.
local function record_set(sem, own, ttl, holds)
  local till, mark, is_alone = sem.now + ttl, holds and '=' or '', true
  local others = string.gsub(sem.sets, SET, function(before, proven, set)
    if set == own then
      till, mark = math.max(till, before + 0), holds and '=' or proven
      return ''
    elseif is_foreign(set, own) then
      is_alone = is_alone and holds and proven == ''
      return ''
    end
  end)
  return is_alone and others .. string.format('%d ', till) .. mark .. own .. ';' or sem.sets
end
