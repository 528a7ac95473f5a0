-- Fragment of acquire.lua: the bytes of '[', '?' and '*'. Bytes cost less than characters.
local LIST, TRY, TOGETHER = 91, 63, 42
