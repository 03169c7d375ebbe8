-- Ends a writer's opening of one scope: sets the head and brings the window up to this version.
-- KEYS  1 head  2 order  3 rows  4 lease
-- ARGV  1 token  2 server run id the value was made for  3 version  4 packed head  5 meta
--       6 'replace' (rows are the whole window) or 'append' (rows are what is new)
--       7 most rows  8 most tokens (first counter)  9 number of rows, then position and row of each,
--       then the positions that left the scope
-- Reply 1 shown  0 not: the scope is cold and wants a rebuild

local head, order, rows, lease = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local token, version, meta = ARGV[1], tonumber(ARGV[3]), ARGV[5]
local run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local deadline = redis.call('HGET', lease, token)
redis.call('HDEL', lease, token)
if not deadline or tonumber(deadline) <= now or run_id ~= ARGV[2] then
    redis.call('UNLINK', head, order, rows, lease)
    return 0
end

local function with_complete(complete)
    return string.sub(meta, 1, 64) .. struct.pack('<I4', complete) .. string.sub(meta, 69)
end

local function cost_of(row)
    return (struct.unpack('<I4', row, 13))
end

local function drop()
    redis.call('UNLINK', order, rows)
end

local function trim()
    local tokens = tonumber(redis.call('HGET', rows, '#t') or 0)
    local count = redis.call('ZCARD', order)
    local trimmed = false
    while count > tonumber(ARGV[7]) or (tokens > tonumber(ARGV[8]) and count > 1) do
        local oldest = redis.call('ZPOPMIN', order)[1]
        local row = redis.call('HGET', rows, oldest)
        if row then tokens = tokens - cost_of(row) end
        redis.call('HDEL', rows, oldest)
        count = count - 1
        trimmed = true
    end
    redis.call('HSET', rows, '#t', tokens)
    return trimmed
end

local function fill()
    local replacing, n = ARGV[6] == 'replace', tonumber(ARGV[9])
    local old = redis.call('HGET', rows, '#')
    local current = nil
    if old and string.sub(old, 1, 40) == run_id then current = struct.unpack('<I8', old, 41) end
    if current and (current > version or current == version and not replacing) then return end
    local complete, floor = struct.unpack('<I4', meta, 65), 0
    if replacing then
        drop()
    elseif current ~= version - 1 then
        return drop()
    else
        complete = struct.unpack('<I4', old, 65)
        if complete == 0 then
            -- a late row older than the window would leave a gap behind it: the ledger has it
            local oldest = redis.call('ZRANGE', order, 0, 0)[1]
            if not oldest then return drop() end
            floor = tonumber(oldest)
        end
    end
    local tokens = 0
    for i = 10, 9 + 2 * n, 2 do
        if tonumber(ARGV[i]) > floor then
            redis.call('ZADD', order, ARGV[i], ARGV[i])
            redis.call('HSET', rows, ARGV[i], ARGV[i + 1])
            tokens = tokens + cost_of(ARGV[i + 1])
        end
    end
    for i = 10 + 2 * n, #ARGV do
        local row = redis.call('HGET', rows, ARGV[i])
        if row then
            tokens = tokens - cost_of(row)
            redis.call('ZREM', order, ARGV[i])
            redis.call('HDEL', rows, ARGV[i])
        end
    end
    redis.call('HINCRBY', rows, '#t', tokens)
    if trim() then complete = 0 end
    redis.call('HSET', rows, '#', with_complete(complete))
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
redis.call('SET', head, ARGV[4])
return 1
