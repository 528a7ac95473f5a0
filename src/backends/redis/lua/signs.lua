-- Fragment: how texts of arguments begin, as bytes, which cost less than characters: '[', '?', '*'.
-- SIGN is the member that keeps `tickets`, and in `clients` says that some leases were over.
local LIST, TRY, TOGETHER, SIGN = 91, 63, 42, '.'
-- What a request asks for, what a verdict begins with, and whose limit a reply names.
local WAITS, TRIES, ASKS_PLACE = 'w', 't', 'p'
local QUEUED, BUSY, FULL, OVER, LATE, REVOKED, REFUSED = 'q', 'b', 'f', 'o', 'l', 'r', 'x'
local STORED, OTHER = 's', 'o'
