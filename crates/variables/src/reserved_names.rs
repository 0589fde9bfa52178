//! Names that captures and maps cannot have, since they have a meaning already.

use std::borrow::Cow;

use crate::name::{Name, NameFamily};

/// Whether a capture or a map may have this name.
///
/// # Errors
///
/// A name that cannot stand behind a `$`, or that is one of Serow's own.
pub fn check_new_name(name: &str) -> Result<(), Cow<'static, str>> {
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_name {
        return Err("a name has letters, digits and _, and begins with a letter".into());
    }
    let lower = name.to_ascii_lowercase();
    let of_request = Name::find(&lower).is_some() || NameFamily::split(&lower).is_some();
    if of_request || lower == SERVER_NAME || of_process(&lower).is_some() || LOG_ONLY.contains(&&*lower) {
        return Err(format!("${lower} has a meaning already: choose another name").into());
    }
    Ok(())
}

/// The value of a name that has the same one in all requests of this process.
pub(crate) fn of_process(written: &str) -> Option<Box<str>> {
    match written.to_ascii_lowercase().as_str() {
        HOST_NAME => Some(host_name().to_lowercase().into()),
        PROCESS => Some(process_id().into()),
        _ => None,
    }
}

#[cfg(unix)]
fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(unix)]
fn process_id() -> String {
    std::process::id().to_string()
}

// Where there is no system, texts are only read.
#[cfg(not(unix))]
fn host_name() -> String {
    String::new()
}

#[cfg(not(unix))]
fn process_id() -> String {
    String::new()
}

/// The name of the first host of a site.
pub const SERVER_NAME: &str = "server_name";

pub(crate) const HOST_NAME: &str = "hostname";
const PROCESS: &str = "pid";

/// Names that only the access log has: values that are known once the response is sent. Those that begin with `upstream_` or
/// `sent_http_` are others.
pub const LOG_ONLY: [&str; 19] = [
    "realip_remote_addr",
    "realip_remote_port",
    "time_local",
    "time_iso8601",
    "msec",
    "status",
    "body_bytes_sent",
    "bytes_sent",
    "request_length",
    "request_time",
    "connection",
    "connection_requests",
    "http2_stream",
    "urgency",
    "incremental",
    "request_completion",
    "limit_name",
    "limit_status",
    "whole",
];
