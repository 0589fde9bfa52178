//! Header fields that make browsers more careful.

use serow_message::Headers;

use super::put;

/// Adds the fields that are not there: what an application says itself counts.
pub(super) fn apply(headers: &mut Headers) {
    for (name, value) in FIELDS {
        if !headers.contains(name) {
            put(headers, name, value);
        }
    }
}

/// Restrictions that harm hardly any site: no guessing of media types, no frames in pages of others, and no paths in
/// the Referer that others get. A Content-Security-Policy and the isolation of windows depend on the site.
const FIELDS: [(&str, &str); 3] = [
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "SAMEORIGIN"),
    ("referrer-policy", "strict-origin-when-cross-origin"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_application_stay() {
        let mut headers = Headers::new();
        headers.append("X-Frame-Options", "DENY").unwrap();
        apply(&mut headers);
        assert_eq!(headers.len(), 3);
        assert_eq!(headers.get_str("x-frame-options"), Some("DENY"));
        assert_eq!(headers.get_str("x-content-type-options"), Some("nosniff"));
    }
}
