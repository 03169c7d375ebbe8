-- Opens one scope for a writer: the head is gone and the writer's token is in the lease, in one step.
-- KEYS  1 head  2 lease
-- ARGV  1 token  2 how long the token counts (ms)
-- Reply the deadline (ms), by this server's clock: clocks of writers do not matter

local time = redis.call('TIME')
local deadline = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2]
redis.call('UNLINK', KEYS[1])
redis.call('HSET', KEYS[2], ARGV[1], string.format('%.0f', deadline))
redis.call('PEXPIRE', KEYS[2], 2 * ARGV[2])
return deadline
