-- Fragment of acquire.lua: a permit is free, no request waits, and a rate, budgets and a cap are
-- all that is in use. Nil if a request must wait, or the slow path has more to write.
-- include: gcra
-- on demand: slow_path = acquire-slow

-- The id that a text asks for, its group, its prices, and the terms that the caller names, all by
-- the names of budgets: '' is the rate.
local function read_request(text)
  local id, options, named = string.match(text, '^@([^.|]+%.[^.|]+)|%a|%d+|([^|]*)|%d*|(.*)$')
  local group, costs = string.match(options or '', '^%d %d+ (%S*) ?(%S*)$')
  local rate, cap, budgets = string.match(named or '', '^([^;]*);?(%d*);?(.*)$')
  local prices, terms = { [''] = 1 }, { [''] = rate ~= '' and rate or nil }
  for name, units in string.gmatch(costs or '', '([^:&]+):(%d+)') do
    prices[name] = units + 0
  end
  for name, its in string.gmatch(budgets, '([^,;]+),([%d,]+)') do
    terms[name] = its
  end
  return id or string.match(text, '^%??([^@?|%[][^|]*)$'), group or '', prices, terms, cap
end

-- A meter that allows a price: its new word in the state, and the ticket's note.
local function pay(word, name, text, price, named, now)
  local m, note = meter_of(text, now), nil
  if m.interval and not is_fresh(named, m.text, m.till, math.max(m.period, RATE_LIFE_US), now) then
    return nil
  elseif m.interval and price > 0 then
    if pay_time_of(m, price, 0, now) > now then
      return nil
    end
    charge_meter(m, price, now)
    note = name ~= '' and charge_text(m, name, price) or nil
  end
  -- The keys must outlive their meters: each 2.8 hours the slow path renews their expiry.
  return m.tat - now < LONG_TTL_US and meter_text(m, word) or nil, note
end

-- If all rules allow a request: their words in the state, the ticket's note, and the cap.
local function pay_all(words, prices, terms, cap, now)
  local texts, notes, most, till = {}, {}, nil, nil
  for word, value in string.gmatch(words, ' (%w+):?(%S*)') do
    local text, name, rest = ' cap:' .. value, string.match(word == 'budget' and value or '', '^([^,]*),?(.*)$')
    if word == 'cap' then
      most, till = string.match(value, '^(%d+),(%d*)$')
      text = (not most or is_fresh(cap, most, till, RATE_LIFE_US, now)) and text or nil
      cap = ''
    elseif word == 'rate' or word == 'budget' then
      local start = name == '' and ' rate:' or ' budget:' .. name
      text, notes[#notes + 1] = pay(start, name, name == '' and value or rest, prices[name] or 0, terms[name], now)
      terms[name] = nil
    else
      return nil
    end
    if not text then
      return nil
    end
    texts[#texts + 1] = text
  end
  if cap ~= '' or next(terms) then
    return nil
  end
  return table.concat(texts), table.concat(notes, '&'), most and most + 0
end

-- Whether the group may hold a permit more. With a cap `groups` exists while permits are held.
local function has_room(groups, group, held, cap)
  local own = redis.call('HGET', groups, group)
  return (own or held == 0 or redis.call('EXISTS', groups) == 1) and (own or 0) + 1 <= cap
end

local function grant_under_rules(tickets, info, text, run, token, held, more, grant_one)
  local id, group, prices, terms, cap = read_request(text)
  local top, words = string.match(more, '^( top:%d+)(.*)$')
  if not id or held < 0 or held >= run.limit + 0 then
    return nil
  end
  local rules, notes, most = pay_all(words or more, prices, terms, cap, run.now + 0)
  local groups = key_of(tickets, 'groups')
  if not rules or most and not has_room(groups, group, held, most) then
    return nil
  end
  local label = group .. (notes == '' and '' or ' ' .. notes)
  label = label == '' and run.label or run.label .. ' ' .. label
  local ticket = grant_one(tickets, info, id, run, token, held, top, label, rules)
  if ticket and most then
    redis.call('HINCRBY', groups, group, '1')
    if held == 0 then
      redis.call('PEXPIRE', groups, 'KEYS_LIFE_MS')
    end
  end
  return ticket
end

local slow
-- The slow path decides where the rules do not apply.
local function grant_or_wait(tickets, info, text, run, token, held, more, grant_one)
  local reply = token and more and grant_under_rules(tickets, info, text, run, token, held, more, grant_one)
  if not reply then
    slow = slow or slow_path()
    reply = slow(tickets, info, text, run)
  end
  return reply
end

return grant_or_wait
