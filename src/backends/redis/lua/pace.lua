-- Fragment of the slow paths: how fast grants come. The state has 'pace:last,mean,grants' while a
-- waiting request wants to know: when the queue was last served, the mean time between grants, and
-- how many grants that is from, up to 32.

-- Notes the grants of this call. Each weighs a 32nd, or as much as each grant before it if
-- these are fewer. A pace that begins with this call has no time between grants yet. Once no
-- request waits, nothing is kept.
local function settle_pace(s)
  if s.waiting == 0 then
    s.pace = nil
  elseif s.pace and s.served > 0 and s.pace ~= s.run.now .. ',0,0' then
    local last, mean, grants = string.match(s.pace, '^(%d+),(%d+),(%d+)$')
    local between = math.max(0, s.now - last) / s.served
    grants = math.min(grants + s.served, 32)
    mean = mean + (between - mean) * math.min(s.served / grants, 1)
    s.pace = string.format('%d,%d,%d', s.now, math.floor(mean), grants)
  end
end
