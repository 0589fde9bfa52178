//! Scripts that Redis runs in one step each. Their keys are all declared, and a cluster or Dragonfly run them as well.

/// Notes which run of Redis this is. If it is another one than the servers know, values may be missing: for some time
/// nobody takes a lock, so that those who have a certificate can write it back before others order one. Returns the
/// value that shows whether all servers have the same secret.
///
/// Keys: run, settling, secret. Arguments: this run, the time in ms, the value if there is none.
pub(super) const CHECK_IN: &str = "
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
    redis.call('SET', KEYS[2], '1', 'PX', ARGV[2])
    redis.call('SET', KEYS[1], ARGV[1])
end
redis.call('SET', KEYS[3], ARGV[3], 'NX')
return redis.call('GET', KEYS[3])
";

/// Takes a lock, unless Redis was emptied a moment ago. Returns its owner: the fencing token, which grows with each
/// lock, and the argument.
///
/// Keys: lock, settling, token, run. Arguments: a random text, the lease in ms.
pub(super) const LOCK: &str = "
if redis.call('EXISTS', KEYS[1], KEYS[2]) > 0 or redis.call('EXISTS', KEYS[4]) == 0 then return false end
local owner = redis.call('INCR', KEYS[3]) .. '-' .. ARGV[1]
redis.call('SET', KEYS[1], owner, 'PX', ARGV[2])
return owner
";

/// Renews a lock. One that is missing before its lease has ended was lost by Redis, and is taken again. Returns whether
/// the owner has it.
///
/// Keys: lock. Arguments: owner, the lease in ms, 1 if the lease has not ended.
pub(super) const RENEW: &str = "
local holder = redis.call('GET', KEYS[1])
if holder ~= ARGV[1] and (holder or ARGV[3] ~= '1') then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
";

/// Gives a lock up, if the owner has it.
///
/// Keys: lock. Arguments: owner.
pub(super) const UNLOCK: &str = "
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
";

/// Writes or removes a value if the owner has the lock, as for [`RENEW`]; notes the change for the watches. Returns
/// whether the owner has the lock.
///
/// Keys: lock, value, changes, version. Arguments: owner, the lease in ms, 1 if the lease has not ended, the name of the
/// value, the value or nothing to remove it, its life in ms or 0, how many changes are kept.
pub(super) const WRITE: &str = "
local holder = redis.call('GET', KEYS[1])
if holder ~= ARGV[1] then
    if holder or ARGV[3] ~= '1' then return 0 end
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
if ARGV[5] == '' then
    if redis.call('DEL', KEYS[2]) == 0 then return 1 end
elseif ARGV[6] == '0' then
    redis.call('SET', KEYS[2], ARGV[5])
else
    redis.call('SET', KEYS[2], ARGV[5], 'PX', ARGV[6])
end
redis.call('ZADD', KEYS[3], redis.call('INCR', KEYS[4]), ARGV[4])
redis.call('ZREMRANGEBYRANK', KEYS[3], 0, -ARGV[7] - 1)
return 1
";

/// Writes a value in the place of the one that the writer has read, if nobody else has written meanwhile. Returns
/// whether it was written.
///
/// Keys: value, changes, version. Arguments: the value that was read or nothing, the new one, the name of the value.
pub(super) const REPLACE: &str = "
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('ZADD', KEYS[2], redis.call('INCR', KEYS[3]), ARGV[3])
return 1
";

/// Returns the run, the version, and the names of the values that have changed since a version.
///
/// Keys: run, version, changes. Arguments: the version.
pub(super) const CHANGES: &str = "
return {
    redis.call('GET', KEYS[1]) or '',
    redis.call('GET', KEYS[2]) or '0',
    redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. ARGV[1], '+inf'),
}
";
