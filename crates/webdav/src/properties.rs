//! The properties that the server knows (live properties, RFC 4918 §15, and quotas, RFC 4331).

use std::{
    fmt::Write,
    fs::File,
    time::{Duration, SystemTime},
};

use serow_files::EntityTag;
use serow_message::FileVersion;

use crate::{
    element::{Name, escape},
    locks::Lock,
    writable_folder::{WritableFolder, seconds_since_1970},
};

/// A file or folder whose properties are wanted.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    /// The path below the folder.
    pub(crate) path: Vec<u8>,
    pub(crate) is_folder: bool,
    pub(crate) version: FileVersion,
    /// The entity tag, if it is a file and the tag was asked for.
    pub(crate) tag: Option<EntityTag>,
    /// Where the file system knows it.
    pub(crate) created: Option<SystemTime>,
    /// Free bytes and used bytes of the quota or the file system, for folders where they were asked for.
    pub(crate) quota: Option<(u64, u64)>,
}

/// The names of the properties that a query for all returns, in `DAV:`.
pub(crate) const LIVE: [&str; 9] = [
    "creationdate",
    "displayname",
    "getcontentlength",
    "getcontenttype",
    "getetag",
    "getlastmodified",
    "lockdiscovery",
    "resourcetype",
    "supportedlock",
];

/// Those that are returned only to who names them (RFC 4331 §3).
pub(crate) const QUOTA: [&str; 2] = ["quota-available-bytes", "quota-used-bytes"];

/// Whether a property is the server's, so that clients cannot set it.
pub(crate) fn is_live(name: &Name) -> bool {
    name.in_dav().is_some_and(|local| LIVE.contains(&local) || QUOTA.contains(&local) || local == "getcontentlanguage")
}

/// Writes a property with its value; says whether the resource has it. `locks` are those that cover it.
pub(crate) fn write(
    output: &mut String,
    local: &str,
    described: &Described,
    shared: &WritableFolder,
    locks: &[Lock],
) -> bool {
    let Some(value) = value(local, described, shared, locks) else { return false };
    let _ = match value.is_empty() {
        true => write!(output, "<D:{local}/>"),
        false => write!(output, "<D:{local}>{value}</D:{local}>"),
    };
    true
}

fn value(local: &str, described: &Described, shared: &WritableFolder, locks: &[Lock]) -> Option<String> {
    let Described { path, is_folder, version, tag, created, quota } = described;
    let escaped = |text: &str| {
        let mut output = String::new();
        escape(text, &mut output);
        output
    };
    let of_file = |value: &dyn Fn() -> String| (!is_folder).then(value);
    match local {
        "creationdate" => created.and_then(iso_date),
        "displayname" => {
            let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
            Some(escaped(&String::from_utf8_lossy(name)))
        }
        "getcontentlength" => of_file(&|| version.length.to_string()),
        "getcontenttype" => of_file(&|| escaped(&shared.folder.media_type(path))),
        "getetag" => tag.as_ref().map(|tag| escaped(&tag.to_string())),
        "getlastmodified" => shared.folder.validators(version, || None::<&File>).1.map(httpdate::fmt_http_date),
        "lockdiscovery" => {
            let mut output = String::new();
            locks.iter().for_each(|lock| write_active_lock(&mut output, lock, shared));
            Some(output)
        }
        "resourcetype" => Some(if *is_folder { "<D:collection/>" } else { "" }.to_owned()),
        "supportedlock" => Some(
            ["exclusive", "shared"]
                .map(|scope| {
                    format!(
                        "<D:lockentry><D:lockscope><D:{scope}/></D:lockscope>\
                         <D:locktype><D:write/></D:locktype></D:lockentry>"
                    )
                })
                .concat(),
        ),
        "quota-available-bytes" => quota.map(|(free, _)| free.to_string()),
        "quota-used-bytes" => quota.map(|(_, used)| used.to_string()),
        _ => None,
    }
}

/// RFC 4918 §14.1.
pub(crate) fn write_active_lock(output: &mut String, lock: &Lock, shared: &WritableFolder) {
    let scope = if lock.is_shared { "shared" } else { "exclusive" };
    let depth = if lock.is_deep { "infinity" } else { "0" };
    let rest = lock.expires.saturating_sub(seconds_since_1970());
    let (owner, token) = (&lock.owner, &lock.token);
    let root = crate::multistatus::encoded(&shared.request_path(&lock.path, false));
    let _ = write!(
        output,
        "<D:activelock><D:locktype><D:write/></D:locktype><D:lockscope><D:{scope}/></D:lockscope><D:depth>{depth}</D:depth>\
         {owner}<D:timeout>Second-{rest}</D:timeout><D:locktoken><D:href>{token}</D:href></D:locktoken>\
         <D:lockroot><D:href>{root}</D:href></D:lockroot></D:activelock>"
    );
}

/// A time as RFC 3339 has it; made of the form of HTTP, `Sun, 06 Nov 1994 08:49:37 GMT`.
fn iso_date(time: SystemTime) -> Option<String> {
    // The crate for HTTP dates knows no years after 9999.
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
    if seconds >= 253_402_300_800 {
        return None;
    }
    let text = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
    let mut parts = text.split(' ').skip(1);
    let (day, month, year, clock) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = months.iter().position(|name| *name == month)? + 1;
    Some(format!("{year}-{month:02}-{day}T{clock}Z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn creation_dates_are_those_of_rfc_3339() {
        for (seconds, expected) in [
            (784_111_777, Some("1994-11-06T08:49:37Z")),
            (951_782_400, Some("2000-02-29T00:00:00Z")),
            (253_402_300_799, Some("9999-12-31T23:59:59Z")),
            (253_402_300_800, None),
        ] {
            let date = iso_date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
            assert_eq!(date.as_deref(), expected, "{seconds}");
        }
    }
}
