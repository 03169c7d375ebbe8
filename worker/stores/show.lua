-- Ends a writer's opening of one scope: sets the head and brings the window up to this version.
-- KEYS  1 head  2 order  3 rows  4 lease
-- ARGV  1 token  2 now (ms)  3 server run id the value was made for  4 version  5 packed head  6 meta
--       7 'replace' (rows are the whole window) or 'append' (rows are what is new)
--       8 most rows  9 most tokens (first counter)  10 number of rows, then position and row of each,
--       then the positions that left the scope
-- Reply 1 shown  0 not: the scope is cold and wants a rebuild

local head, order, rows, lease = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local token, now, version = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[4])
local run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')

if redis.call('HDEL', lease, token) == 0 or run_id ~= ARGV[3] then
    redis.call('UNLINK', head, order, rows, lease)
    return 0
end

local function window_version()
    local meta = redis.call('HGET', rows, '#')
    if not meta or string.sub(meta, 1, 40) ~= run_id then return nil end
    return (struct.unpack('<I8', meta, 41))
end

local function trim()
    local tokens = tonumber(redis.call('HGET', rows, '#t') or 0)
    local count = redis.call('ZCARD', order)
    local trimmed = false
    while count > tonumber(ARGV[8]) or (tokens > tonumber(ARGV[9]) and count > 1) do
        local oldest = redis.call('ZPOPMIN', order)[1]
        local row = redis.call('HGET', rows, oldest)
        if row then tokens = tokens - struct.unpack('<I4', row, 9) end
        redis.call('HDEL', rows, oldest)
        count = count - 1
        trimmed = true
    end
    redis.call('HSET', rows, '#t', tokens)
    return trimmed
end

local function fill()
    local mode, n = ARGV[7], tonumber(ARGV[10])
    local current = window_version()
    if current and current >= version then return end
    local complete = string.sub(ARGV[6], 69, 72)
    if mode == 'replace' then
        redis.call('UNLINK', order, rows)
    elseif current ~= version - 1 then
        redis.call('UNLINK', order, rows)
        return
    else
        complete = string.sub(redis.call('HGET', rows, '#'), 69, 72)
    end
    local tokens, floor = 0, 0
    if complete ~= struct.pack('<I4', 1) then
        -- a late row older than the window would leave a gap behind it: the ledger has it
        floor = tonumber(redis.call('ZRANGE', order, 0, 0)[1] or 0)
    end
    for i = 11, 10 + 2 * n, 2 do
        if tonumber(ARGV[i]) > floor then
            redis.call('ZADD', order, ARGV[i], ARGV[i])
            redis.call('HSET', rows, ARGV[i], ARGV[i + 1])
            tokens = tokens + struct.unpack('<I4', ARGV[i + 1], 9)
        end
    end
    for i = 11 + 2 * n, #ARGV do
        local row = redis.call('HGET', rows, ARGV[i])
        if row then
            tokens = tokens - struct.unpack('<I4', row, 9)
            redis.call('ZREM', order, ARGV[i])
            redis.call('HDEL', rows, ARGV[i])
        end
    end
    redis.call('HINCRBY', rows, '#t', tokens)
    if trim() then complete = struct.pack('<I4', 0) end
    redis.call('HSET', rows, '#', string.sub(ARGV[6], 1, 68) .. complete .. string.sub(ARGV[6], 73))
end

fill()

local held_back = tonumber(redis.call('HGET', lease, '#v') or 0)
local others = false
local fields = redis.call('HGETALL', lease)
for i = 1, #fields, 2 do
    if fields[i] ~= '#v' then
        if tonumber(fields[i + 1]) > now then
            others = true
        else
            redis.call('HDEL', lease, fields[i])
        end
    end
end

if others then
    redis.call('HSET', lease, '#v', math.max(version, held_back))
    return 1
end
redis.call('UNLINK', lease)
if held_back > version then
    redis.call('UNLINK', head, order, rows)
    return 0
end
local shown = redis.call('GETRANGE', head, 44, 51)
if #shown == 8 and struct.unpack('<I8', shown) > version and redis.call('GETRANGE', head, 4, 43) == run_id then
    return 1
end
redis.call('SET', head, ARGV[5])
return 1
