//! The field Destination: no path of another host is accepted, and no path leaves the folder.

use serow_files::{Hidden, RequestPath};
use serow_webdav::{Depth, local_path, lock_timeout};

use crate::with_value;

/// The target.
pub fn target(data: &[u8]) {
    with_value(data, run);
}

fn run(input: (&str, &str)) {
    let (host, url) = input;
    let _ = Depth::parse(url.as_bytes());
    assert!((1..=3600).contains(&lock_timeout(Some(url.as_bytes()))));
    let Ok(path) = local_path(url, Some(host)) else { return };
    assert!(path.starts_with('/') && !path.contains(['?', '#', ' ']), "{path}");
    if let Some((_, rest)) = url.split_once("://").filter(|_| !url.starts_with('/')) {
        let authority = rest.split('/').next().unwrap_or_default().to_lowercase();
        let host = host.to_lowercase();
        assert!(authority.starts_with(&*host) || host.starts_with(&authority), "{url} is not on {host}");
    }
    if let Ok(path) = RequestPath::parse(&path, Hidden::Refuse) {
        let mut names = path.relative().split(|&byte| byte == b'/');
        assert!(names.all(|name| name != b".." && name != b"." && !name.contains(&0)));
    }
}
