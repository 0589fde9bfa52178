//! What keys are called here that people know from nginx.

/// What to write in the place of a directive of nginx; nothing of one that is called the same here, or unknown.
pub(crate) fn counterpart(key: &str) -> Option<&'static str> {
    // Both spellings are in use: nginx's with underscores, and what people make of it here.
    let key = key.to_lowercase().replace('-', "_");
    WORDS.iter().find(|(directive, _)| *directive == key).map(|(_, counterpart)| *counterpart)
}

/// nginx's directives (nginx.org/en/docs/dirindex.html), and what there is for them.
const WORDS: [(&str, &str); 45] = [
    ("add_header", "`headers` of a [[site]] or [[site.route]], as in headers = { X-Frame-Options = \"DENY\" }"),
    ("alias", "`files = { root = \"...\" }` in a [[site.route]], with `rewrite` where the path differs"),
    ("allow", "not available: nothing limits which addresses may connect"),
    ("auth_basic", "not available: leave authentication to the application"),
    ("autoindex", "`listing` in `files`"),
    ("client_body_timeout", "`body-timeout`, at the root"),
    ("client_header_timeout", "`head-timeout`, at the root"),
    ("client_max_body_size", "`max-body`, at the root"),
    ("default_type", "`default-type` in `files`"),
    ("deny", "not available: nothing limits which addresses may connect"),
    ("error_log", "standard error, with `log-level` at the root"),
    ("error_page", "`not-found` in `files`, for the status 404"),
    ("events", "not needed: put its settings at the root"),
    ("fastcgi_pass", "not available: run the application with `app`, or by HTTP with `proxy`"),
    ("gzip", "`compress` in `files`"),
    ("gzip_static", "`precompressed` in `files`"),
    ("http_redirect", "`redirect-http`, at the root"),
    ("ip_hash", "`balance = \"hash\"` in an [[upstream]]"),
    ("keepalive", "`keep-idle` in an [[upstream]]"),
    ("keepalive_timeout", "`idle-timeout`, at the root"),
    ("least_conn", "`balance = \"least-requests\"` in an [[upstream]]"),
    ("limit_req", "not available: nothing limits the rate of requests"),
    ("location", "[[site.route]] with `path`, as in path = \"/api/*\""),
    ("log_format", "`access-log-format`, at the root"),
    ("proxy_cache", "not available: responses of other servers are not cached"),
    ("proxy_connect_timeout", "`connect-timeout` in an [[upstream]]"),
    ("proxy_pass", "`proxy`, as in proxy = { servers = [\"127.0.0.1:9000\"] }"),
    ("proxy_read_timeout", "`response-timeout` and `transfer-timeout` in an [[upstream]]"),
    ("proxy_redirect", "not available: an application finds its address in X-Forwarded-Host and X-Forwarded-Proto"),
    ("proxy_set_header", "`set-header` in `proxy`"),
    ("real_ip_header", "`trust` in `proxy` or `app`: the networks whose X-Forwarded-For counts"),
    ("return", "`respond` or `redirect` in a [[site.route]]"),
    ("sendfile_max_chunk", "not needed: no connection keeps others waiting"),
    ("server", "[[site]]; a server of an upstream stands in `servers` of the [[upstream]]"),
    ("server_name", "`hosts` of a [[site]], as in hosts = [\"example.com\"]"),
    ("set_real_ip_from", "`trust` in `proxy` or `app`"),
    ("ssl", "`tls`, at the root"),
    ("ssl_certificate", "`tls`, at the root, as in tls = [\"site.pem,site.key\"]"),
    ("ssl_certificate_key", "`tls`, at the root, as in tls = [\"site.pem,site.key\"]"),
    ("ssl_client_certificate", "`tls-client-ca`, at the root"),
    ("ssl_crl", "`tls-client-crl`, at the root"),
    ("ssl_protocols", "`tls-versions`, at the root"),
    ("ssl_reject_handshake", "`tls-unknown-name = \"refuse\"`, at the root"),
    ("ssl_session_ticket_key", "`tls-ticket-secret`, at the root"),
    ("try_files", "`spa` or `not-found` in `files`"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::kinds;

    #[test]
    fn directives_are_found_in_either_spelling() {
        assert!(counterpart("server_name").is_some_and(|text| text.starts_with("`hosts`")));
        assert_eq!(counterpart("server-name"), counterpart("Server_Name"));
        assert_eq!(counterpart("servers"), None);
    }

    #[test]
    fn every_counterpart_names_keys_that_exist() {
        for (directive, counterpart) in WORDS {
            let quoted = counterpart.split('`').skip(1).step_by(2);
            for key in quoted.map(|text| text.split([' ', '=']).next().unwrap_or_default()) {
                assert!(kinds::is_key(key), "{directive}: {key}");
            }
            assert!(!kinds::is_key(directive), "{directive} is a key here too");
        }
        let mut sorted = WORDS;
        sorted.sort_unstable();
        assert_eq!(WORDS, sorted);
    }
}
