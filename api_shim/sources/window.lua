-- The newest entries of a scope that a budget lets through, from the window behind the packed head.
-- The law is foreword.budget.walk; a property test holds the two together.
-- KEYS  1 order  2 rows
-- ARGV  1 server run id  2 now (ms)  3 counter ordinal  4 budget (-1 = none)  5 limit  6 fit
--       7 rows older than this position (a cursor), or '+inf'  8 most rows a pack visits
-- Reply nil: cold
--       0: what is needed is not in the window (older rows, costs of a newer counter)
--       {live total, used, visited, oversize, ended, smallest omitted (-1 = none),
--       position of the last row visited (0 = none), kept fragments...}

local order, rows = KEYS[1], KEYS[2]
local now, ordinal, budget = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local limit, fit, most = tonumber(ARGV[5]), ARGV[6], tonumber(ARGV[8])
local before = ARGV[7] == '+inf' and ARGV[7] or '(' .. ARGV[7]

local meta = redis.call('HGET', rows, '#')
if not meta or string.sub(meta, 1, 40) ~= ARGV[1] then return nil end
local total, valid_until, complete, upcoming = struct.unpack('<I8I8I4I4', meta, 49)
if valid_until <= now then return nil end
local size = redis.call('ZCARD', order)
if redis.call('HLEN', rows) ~= size + 2 then return nil end
for i = 0, upcoming - 1 do
    if struct.unpack('<I8', meta, 73 + 8 * i) <= now then total = total - 1 end
end

local CHUNK = 128
local kept, used, visited, oversize, smallest, last = {}, 0, 0, 0, -1, 0
local ended = nil

local function meet(seq, row)
    local expires, counters = struct.unpack('<I8I4', row)
    if expires > 0 and expires <= now then return end
    if #kept >= limit then ended = 'limit' return end
    if fit == 'pack' and budget >= 0 and visited >= most then ended = 'walk' return end
    if ordinal >= counters then ended = 'uncounted' return end
    local cost = struct.unpack('<I4', row, 13 + 4 * ordinal)
    if budget < 0 or used + cost <= budget then
        kept[#kept + 1] = string.sub(row, 13 + 4 * counters)
        used = used + cost
    else
        if smallest < 0 or cost < smallest then smallest = cost end
        if cost > budget then
            oversize = oversize + 1
            if fit == 'strict' then ended = 'budget' end
        elseif fit ~= 'pack' then
            ended = 'budget'
            return
        end
    end
    visited = visited + 1
    last = seq
end

local offset = 0
while not ended do
    local seqs = redis.call('ZRANGE', order, before, '-inf', 'BYSCORE', 'REV', 'LIMIT', offset, CHUNK)
    if #seqs == 0 then break end
    local found = redis.call('HMGET', rows, unpack(seqs))
    for i = 1, #seqs do
        if not found[i] then return nil end
        meet(seqs[i], found[i])
        if ended then break end
    end
    offset = offset + CHUNK
end

if ended == 'uncounted' then return 0 end
if not ended then
    if complete == 0 then
        if #kept < limit then return 0 end
        ended = 'limit'
    else
        ended = 'end'
    end
end
local reply = {total, used, visited, oversize, ended, smallest, tonumber(last)}
for i = 1, #kept do reply[7 + i] = kept[i] end
return reply
