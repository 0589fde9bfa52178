//! Where a client is sent that asked for a folder without the slash behind it.

use serow_message::percent::encode_path;

/// Where a client that left out the slash behind a folder is sent: the path, which has it, and the query as it came.
#[must_use]
pub fn redirect_target(path: &[u8], query: Option<&str>) -> Vec<u8> {
    let mut target = Vec::with_capacity(path.len() + 16);
    // The path was cleaned of repeated slashes: `//host/` would be another host (RFC 3986 §4.2).
    encode_path(path, &mut target);
    if let Some(query) = query {
        target.push(b'?');
        target.extend_from_slice(query.as_bytes());
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        let cases: [(&[u8], Option<&str>, &str); 5] = [
            (b"/a/", None, "/a/"),
            (b"/a/", Some("x=1&y=%20"), "/a/?x=1&y=%20"),
            (b"/a b/", Some(""), "/a%20b/?"),
            (b"/\xc3\xa4\"<&>'?#%/", None, "/%C3%A4%22%3C%26%3E%27%3F%23%25/"),
            (b"/\r\nx: y/", None, "/%0D%0Ax:%20y/"),
        ];
        for (path, query, expected) in cases {
            assert_eq!(String::from_utf8(redirect_target(path, query)).unwrap(), expected);
        }
    }
}
