//! Dates of certificates as text.

use std::time::{Duration, SystemTime};

use rustls::pki_types::UnixTime;

/// The date as HTTP writes it, for a message.
pub(crate) fn date(time: UnixTime) -> String {
    match SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(time.as_secs())) {
        // HTTP has no form for later years.
        Some(time) if time < SystemTime::UNIX_EPOCH + MAX_DATE => httpdate::fmt_http_date(time),
        _ => "a date after the year 9999".to_owned(),
    }
}

/// The end of the year 9999.
const MAX_DATE: Duration = Duration::from_secs(253_402_300_800);
