//! The reports of the servers of a fleet about themselves, for one another: a hash in Redis, with a field for each.

use std::time::Duration;

use redis::{Cmd, Value};

use super::{connection::text, error::FleetError};
use crate::{FleetSettings, MAX_INSTANCES, MAX_REPORT, ServerId, ServerReport};

/// The call that tells what this server is, and asks for the others.
pub(super) fn command(settings: &FleetSettings, (server, report): &(ServerId, String)) -> Cmd {
    let mut command = redis::cmd("EVAL");
    command.arg(REPORT).arg(1).arg(settings.key("servers"));
    command.arg(server.to_string()).arg(report).arg(LIFE).arg(MAX_INSTANCES).arg(MAX_REPORT);
    command
}

/// Reads the answer. Anything but a report is left out.
pub(super) fn answer(answer: Value) -> Result<Vec<ServerReport>, FleetError> {
    let Value::Array(parts) = answer else { return Err(FleetError::unexpected()) };
    let report = |part: &[Value]| match part {
        [server, Value::Int(age), report] => Some(ServerReport {
            server: text(Some(server))?.parse().ok()?,
            age: Duration::from_millis(u64::try_from(*age).unwrap_or(0)),
            text: text(Some(report))?,
        }),
        _ => None,
    };
    Ok(parts.chunks(3).filter_map(report).collect())
}

/// Stores a report, and returns all, each with its server and its age in milliseconds; those that are too old are removed.
///
/// Keys: the reports. Arguments: the server, its report, how long one is kept in milliseconds, how many there can be, the
/// bytes of the longest.
const REPORT: &str = "
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now) .. ' ' .. ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
local answer = {}
local all = redis.call('HGETALL', KEYS[1])
for at = 1, #all, 2 do
    local at_time, report = string.match(all[at + 1], '^(%d+) (.*)$')
    local age = at_time and now - at_time
    if not age or math.abs(age) > tonumber(ARGV[3]) or #report > tonumber(ARGV[5]) or at > 2 * ARGV[4] then
        redis.call('HDEL', KEYS[1], all[at])
    else
        answer[#answer + 1] = all[at]
        answer[#answer + 1] = age
        answer[#answer + 1] = report
    end
end
return answer
";

/// An hour, in milliseconds: a server that is away is listed for so long.
const LIFE: u64 = 3_600_000;

/// How often a server tells about itself, in nanoseconds: seldom in a large fleet, since all are sent to all.
pub(super) fn interval(instances: u32) -> u64 {
    1_000_000_000 + u64::from(instances) * 20_000_000
}
