//! Whether a request comes from a page of another site.
//!
//! Without passwords, whoever reaches the server may upload, and the browser of such a person reaches it for each page
//! that it shows. Browsers ask before they send a PUT across sites (WHATWG Fetch §3.3), which nobody grants here; this
//! does not depend on their question.

use serow_message::{KnownHeader, Request};

/// Whether the browser says that a page of another site has sent the request. Other programs send neither
/// field.
pub(crate) fn is_from_another_site(request: &Request) -> bool {
    // No script can set it. Browsers send it over TLS, and to the machine itself. `none` is a person at the address bar.
    if let Some(site) = request.headers.get(FETCH_SITE) {
        return site != b"same-origin" && site != b"none";
    }
    let Some(origin) = request.headers.get(KnownHeader::Origin) else { return false };
    let authority = origin.splitn(3, |&byte| byte == b'/').nth(2);
    match (authority, request.host()) {
        (Some(authority), Some(host)) => !authority.eq_ignore_ascii_case(host.as_ref()),
        // `null` is the origin of a page in a sandbox, or in a file.
        _ => true,
    }
}

const FETCH_SITE: &str = "sec-fetch-site";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_other_sites_are_recognised_by_what_browsers_say() {
        for (fields, expected) in [
            (&[][..], false),
            (&[("sec-fetch-site", "same-origin")], false),
            (&[("sec-fetch-site", "none")], false),
            (&[("sec-fetch-site", "same-site")], true),
            (&[("sec-fetch-site", "cross-site")], true),
            (&[("sec-fetch-site", "")], true),
            (&[("origin", "http://files.example:8080")], false),
            (&[("origin", "https://FILES.example:8080")], false),
            (&[("origin", "http://files.example")], true),
            (&[("origin", "http://files.example:8081")], true),
            (&[("origin", "http://evil.example")], true),
            (&[("origin", "http://files.example:8080.evil.example")], true),
            (&[("origin", "null")], true),
            (&[("origin", "")], true),
            // A proxy in front may have changed Host; what the browser says about the site is more.
            (&[("origin", "https://outside.example"), ("sec-fetch-site", "same-origin")], false),
            (&[("origin", "http://files.example:8080"), ("sec-fetch-site", "cross-site")], true),
        ] {
            let mut request = Request::get("/");
            request.headers.append("host", "files.example:8080").unwrap();
            for (name, value) in fields {
                request.headers.append(*name, *value).unwrap();
            }
            assert_eq!(is_from_another_site(&request), expected, "{fields:?}");
        }
    }
}
