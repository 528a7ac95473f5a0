-- Fragment: the limit as far as it is known, 's' and the stored one, 'o' and the last caller's, or
-- ''.
local function known_limit(meta)
  local state = redis.call('HGET', meta, 'state') or ''
  local configured, stored = string.match(state, '^%d+ (%d+)'), string.match(state, ';(%d+) ')
  return stored and 's' .. stored or configured and 'o' .. configured or ''
end
