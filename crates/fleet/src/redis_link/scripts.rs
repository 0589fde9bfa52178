//! The scripts that run in Redis. They use the clock of Redis only, so clocks of servers do not matter, and all keys that
//! they touch are declared.

/// Adds what a server has consumed, and returns for each key how far ahead of the present it ends, in microseconds, and how
/// many requests have come to all servers. A value of something else stays as it is, and its total is -1.
///
/// A value is `END TOTAL`: the end of all requests as of the generic cell rate algorithm, in microseconds since 1970.
/// Requests count from the time in which they came: a server that was out of contact does not lock clients out with what
/// it has served meanwhile.
///
/// Keys: those of limits. Arguments, six for each: the microseconds of a request, how far ahead a key may end, the
/// requests that were served, the requests that came, the microseconds in which they came, how far ahead the end is that
/// the server knows.
pub(super) const EXCHANGE: &str = "
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local answers = {}
for number, key in ipairs(KEYS) do
    local at = number * 6 - 5
    local interval, most, admitted = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
    local demand, span, ahead = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5])
    local value = redis.pcall('GET', key)
    local finish, total
    if type(value) == 'string' and #value < 40 then
        finish, total = string.match(value, '^(%d+) (%d+)$')
    end
    if value == false or finish then
        if finish then
            finish = math.max(tonumber(finish), now - span) + admitted * interval
        else
            finish = math.max(now - span + admitted * interval, now + ahead)
        end
        finish = math.max(math.min(finish, now + most), 0)
        total = (tonumber(total or 0) + demand) % 2147483648
        local life = math.ceil(math.max(finish - now, 0) / 1000) + 10000
        redis.call('SET', key, string.format('%.0f %.0f', finish, total), 'PX', string.format('%.0f', life))
        answers[number * 2 - 1] = finish - now
        answers[number * 2] = total
    else
        answers[number * 2 - 1] = 0
        answers[number * 2] = -1
    end
end
return answers
";

/// Notes that a server is there, and returns how many are, and the milliseconds since 1970.
///
/// Keys: instances. Arguments: the server, how long it is there without another call in milliseconds.
pub(super) const HEARTBEAT: &str = "
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], now + ARGV[2], '+inf')
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return { redis.call('ZCARD', KEYS[1]), now }
";
