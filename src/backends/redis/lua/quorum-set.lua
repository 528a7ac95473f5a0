-- Fragment: the sets of nodes that this node is used in. `claim` is '' where the caller does not say, else how and its set: + is recorded
-- where no stranger is, ! instead of strangers, ? never. A set is its lists with + between them, a list its nodes with , between.
-- `sets` in qmeta has 'until set;until set', a set with = before it once somebody has held a ticket in it. Sets with a list in common are
-- friends: who needs a majority of both lists gets along with either.
-- After it, `told` has the sets that were live before the call, and `set_record` gives what `sets` is to be.
local stored_sets = call('HGET', meta, 'sets') or ''
local how, mine = match(claim, '^([+!?])(.+)$')
local told, friends, strangers, own, proven = {}, {}, {}, 0.0, ''
for till, mark, set in gmatch(stored_sets, '(%d+) (=?)([^;]+)') do
  if mine and till * 1.0 > now then
    told[#told + 1] = mark .. set
    local friend = false
    for list in gmatch(set, '[^+]+') do
      friend = friend or string.find('+' .. mine .. '+', '+' .. list .. '+', 1, true)
    end
    if set == mine then
      own, proven = till * 1.0, mark
    elseif friend then
      friends[#friends + 1] = till .. ' ' .. mark .. set
    else
      strangers[#strangers + 1] = { till = till * 1.0, set = mark .. set }
    end
  end
end

-- Where the caller's own set is not recorded, its tickets are known by those that are: they live as long. Who only looks has none.
local function set_record(holds)
  if not mine then
    return stored_sets
  end
  local recorded = how == '!' or (how == '+' and #strangers == 0)
  local renewed = (holds or how ~= '?') and now + ARGV[2] * 1000.0 or 0
  local parts = friends
  if recorded or own > 0 then
    parts[#parts + 1] = format('%.0f ', math.max(own, renewed)) .. (holds and '=' or proven) .. mine
  end
  for i = 1, how == '!' and 0 or #strangers do
    parts[#parts + 1] = format('%.0f ', math.max(strangers[i].till, renewed)) .. strangers[i].set
  end
  return table.concat(parts, ';')
end
