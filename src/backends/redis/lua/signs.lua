-- Fragment: how texts of arguments begin, as bytes, which cost less than characters: '[', '?', '*'.
local LIST, TRY, TOGETHER = 91, 63, 42
-- What a request asks for, what a verdict begins with, and whose limit a reply names.
local WAITS, TRIES, ASKS_PLACE = 'w', 't', 'p'
local QUEUED, BUSY, FULL, OVER, LATE, REVOKED, REFUSED = 'q', 'b', 'f', 'o', 'l', 'r', 'x'
local STORED, OTHER = 's', 'o'
