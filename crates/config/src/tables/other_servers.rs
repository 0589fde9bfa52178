//! The counterparts here of keys that people know from other servers, or expect.

/// The text to write in place of a key; nothing for one that is unknown.
pub fn counterpart(key: &str) -> Option<&'static str> {
    let key = key.to_lowercase().replace('_', "-");
    WORDS.iter().find(|(other, _)| *other == key).map(|(_, counterpart)| *counterpart)
}

/// Words of Apache, Caddy, HAProxy and application servers, and words that seem likely.
const WORDS: [(&str, &str); 33] = [
    ("address", "`listen`, as in listen = \"127.0.0.1:8080\""),
    ("application-root", "`chdir` in `app`"),
    ("backend", "an [[upstream]] with `servers`"),
    ("bind-address", "`listen`, as in listen = \"127.0.0.1:8080\""),
    ("cert", "`tls`, as in tls = \"site.pem,site.key\""),
    ("certificate", "`tls`, as in tls = \"site.pem,site.key\""),
    ("directory", "`root` in `files`, as in files = { root = \"public\" }"),
    ("document-root", "`root` in `files`, as in files = { root = \"public\" }"),
    ("domain", "`hosts` of a [[site]], as in hosts = [\"example.com\"]"),
    ("domains", "`hosts` of a [[site]], as in hosts = [\"example.com\"]"),
    ("encode", "`compress` of a [[site]] or [[site.route]], as in compress = true"),
    ("folder", "`root` in `files`, as in files = { root = \"public\" }"),
    ("frontend", "`listen` and [[site]]"),
    ("health-uri", "`check-path` in an [[upstream]], as in check-path = \"/up\""),
    ("hostname", "`hosts` of a [[site]], as in hosts = [\"example.com\"]"),
    ("log", "`access-log`, and `log-level` for the errors on standard error"),
    ("logs", "`access-log`, and `log-level` for the errors on standard error"),
    ("max-request-size", "`max-body`, at the root, in a [[site]] or [[site.route]]"),
    ("path-prefix", "`path` of a [[site.route]], as in path = \"/api/*\""),
    ("port", "`listen`, as in listen = \":8080\""),
    ("private-key", "`tls`, as in tls = \"site.pem,site.key\""),
    ("read-timeout", "`response-timeout` in `proxy`"),
    ("request-body-max-size", "`max-body`, at the root, in a [[site]] or [[site.route]]"),
    ("reverse-proxy", "`proxy`, as in proxy = { servers = [\"127.0.0.1:9000\"] }"),
    ("routes", "[[site.route]], one table for each"),
    ("sites", "[[site]], one table for each"),
    ("threads-per-worker", "`threads` in `app`"),
    ("upstreams", "[[upstream]], one table for each"),
    ("venv", "`interpreter` in `app`, as in interpreter = \"venv/bin/python\""),
    ("virtual-host", "[[site]] with `hosts`"),
    ("virtualenv", "`interpreter` in `app`, as in interpreter = \"venv/bin/python\""),
    ("websocket", "nothing: WebSockets pass without it"),
    ("websockets", "nothing: WebSockets pass without it"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::kinds;

    #[test]
    fn every_counterpart_names_keys_that_exist() {
        for (word, counterpart) in WORDS {
            let quoted = counterpart.split('`').skip(1).step_by(2);
            for key in quoted.map(|text| text.split([' ', '=']).next().unwrap_or_default()) {
                assert!(kinds::is_key(key), "{word}: {key}");
            }
        }
        let mut sorted = WORDS;
        sorted.sort_unstable();
        assert_eq!(WORDS, sorted);
        assert_eq!(counterpart("Document_Root"), counterpart("document-root"));
    }
}
