//! The counterparts here of keys that people know from nginx.

/// The text to write in place of a directive of nginx; nothing for one that has the same name here, or is unknown.
pub fn counterpart(key: &str) -> Option<&'static str> {
    // Both spellings are in use: nginx's with underscores, and the one with hyphens that people make of it here.
    let key = key.to_lowercase().replace('-', "_");
    WORDS.iter().find(|(directive, _)| *directive == key).map(|(_, counterpart)| *counterpart)
}

/// nginx's directives (nginx.org/en/docs/dirindex.html), and what there is for them.
const WORDS: &[(&str, &str)] = &[
    ("absolute_redirect", "not needed: `redirect` sends the target as it is written"),
    ("access_log", "`access-log`, at the root or in a [[site]] or [[site.route]]"),
    ("add_after_body", "not available: responses are sent as they are"),
    (
        "add_header",
        "`headers` or `response-headers` of a [[site]] or [[site.route]], as in headers = { X-Frame-Options = \"DENY\" }",
    ),
    ("alias", "`files = { root = \"...\" }` in a [[site.route]], with `strip-prefix`"),
    ("auth_basic", "`basic`, as in basic = { file = \"users.htpasswd\", realm = \"Reports\" }"),
    ("auth_basic_user_file", "`basic`, as in basic = { file = \"users.htpasswd\" }"),
    ("auth_request", "`forward-auth`, in a [[site]] or [[site.route]]"),
    (
        "auth_request_set",
        "`forward-auth`, as in forward-auth = { to = \"127.0.0.1:9091/verify\", copy = [\"Remote-User\"] }",
    ),
    ("autoindex", "`listing` in `files`"),
    ("charset", "not needed: text files are sent as UTF-8; `type` in `files` sets another type"),
    ("client_body_buffer_size", "`buffer-requests` in `proxy`; up to `max-spool` bytes are kept on disk"),
    ("client_body_timeout", "`body-timeout`, at the root, in a [[site]] or [[site.route]]"),
    ("client_header_timeout", "`head-timeout`, at the root"),
    ("client_max_body_size", "`max-body`, at the root, in a [[site]] or [[site.route]]"),
    ("dav_methods", "`write` in `files`, as in write = \"dav\""),
    ("default_type", "`default-type` in `files`"),
    ("disable_symlinks", "`symlinks` in `files`"),
    ("error_log", "standard error, with `log-level` at the root"),
    ("error_page", "`error-pages` of a [[site]] or [[site.route]], as in error-pages = { 404 = \"404.html\" }"),
    ("etag", "not needed: files have an ETag and a modification time"),
    ("events", "not needed: put its settings at the root"),
    ("fail_timeout", "`ejection-time` in an [[upstream]]"),
    ("fastcgi_pass", "`php = { root = \"…\", servers = \"unix:…\" }`, for a folder of PHP scripts"),
    ("geo", "`client` in `when` of a [[site.route]], as in when = { client = [\"10.0.0.0/8\"] }"),
    ("grpc_pass", "`proxy` to a server with h2c:// or https://, as in servers = [\"h2c://127.0.0.1:9000\"]"),
    ("gzip", "`compress` of a [[site]] or [[site.route]]; folders are compressed without it"),
    ("gzip_comp_level", "`compress`, as in compress = { gzip = 5 }"),
    ("gzip_min_length", "`compress`, as in compress = { min-size = \"1k\" }"),
    ("gzip_static", "`precompressed` in `files`"),
    ("gzip_types", "`compress`, as in compress = { types = [\"text/*\"] }"),
    ("gzip_vary", "not needed: compressed responses always have Vary"),
    ("http2", "`http`, at the root"),
    ("http_redirect", "`redirect-http`, at the root"),
    (
        "if",
        "`when` of a [[site.route]], as in when = { header = { Accept-Language = \"de*\" } } or { file = \"down.html\" }",
    ),
    ("ip_hash", "`balance = \"hash\"` in an [[upstream]]"),
    ("keepalive", "`keep-idle` in an [[upstream]]"),
    ("keepalive_requests", "not needed: connections stay open until `idle-timeout`"),
    ("keepalive_timeout", "`idle-timeout`, at the root"),
    ("large_client_header_buffers", "`max-head` and `max-target`, at the root"),
    ("least_conn", "`balance = \"least-requests\"` in an [[upstream]]"),
    ("limit_conn", "`max-requests-per-client` of a site or route, and `max-connections-per-client` at the root"),
    ("limit_except", "`methods` of a [[site.route]]"),
    ("limit_rate", "`rate` of a [[site]] or [[site.route]], as in rate = \"500k\""),
    ("limit_rate_after", "`rate-after` of a [[site]] or [[site.route]], beside `rate`"),
    ("limit_req", "`limits`, with the names of [[limit]] tables"),
    ("limit_req_zone", "a [[limit]] with `name`, `key` and `rate`"),
    ("location", "[[site.route]] with `path`, as in path = \"/api/*\""),
    ("log_format", "`access-log-format`, at the root, or in the table of an `access-log`"),
    ("log_not_found", "not needed: the access log has the status of a missing file"),
    ("max_fails", "`max-failures` in an [[upstream]]"),
    ("merge_slashes", "not needed: routes match the path without duplicate slashes"),
    (
        "more_clear_headers",
        "`response-headers` of a [[site]] or [[site.route]], as in response-headers = [{ remove = \"Server\" }]",
    ),
    (
        "more_set_headers",
        "`response-headers` of a [[site]] or [[site.route]], as in response-headers = [{ set = \"Server\", value = \"me\" }]",
    ),
    (
        "more_set_input_headers",
        "`request-headers` of a [[site]] or [[site.route]], as in request-headers = [{ set = \"X-A\", value = \"$host\" }]",
    ),
    ("multi_accept", "not needed: each worker accepts on a socket of its own"),
    ("open_file_cache", "`cache-files` in `files`"),
    ("pid", "the option --pid-file of serow run"),
    ("proxy_buffer_size", "not needed: what slow clients have not read takes at most `max-spool`"),
    ("proxy_buffering", "`buffer-responses` in `proxy`"),
    ("proxy_buffers", "not needed: what slow clients have not read takes at most `max-spool`"),
    ("proxy_busy_buffers_size", "not needed: what slow clients have not read takes at most `max-spool`"),
    ("proxy_cache", "`cache` of a [[site]] or [[site.route]], with [cache] at the root"),
    ("proxy_connect_timeout", "`connect-timeout` in an [[upstream]]"),
    ("proxy_cookie_domain", "`cookie-domain` in `proxy`, as in cookie-domain = { \"app.internal\" = \"$host\" }"),
    ("proxy_cookie_flags", "`cookie-flags` in `proxy`, as in cookie-flags = { \"*\" = [\"secure\", \"httponly\"] }"),
    ("proxy_cookie_path", "`cookie-path` in `proxy`, as in cookie-path = { \"/app/\" = \"/\" }"),
    ("proxy_hide_header", "`set-response-header` in `proxy`, with an empty value"),
    ("proxy_http_version", "not needed: HTTP/1.1, or HTTP/2 where a server is h2c:// or https://"),
    ("proxy_intercept_errors", "`intercept` of a [[site]] or [[site.route]], with `error-pages`"),
    ("proxy_max_temp_file_size", "`max-spool`, for all bodies together; `buffer-responses` in `proxy` turns files off"),
    ("proxy_next_upstream", "`retry-on` in an [[upstream]]"),
    ("proxy_next_upstream_tries", "`tries` in an [[upstream]]"),
    ("proxy_pass", "`proxy`, as in proxy = { servers = [\"127.0.0.1:9000\"] }"),
    ("proxy_read_timeout", "`response-timeout` and `transfer-timeout` in an [[upstream]], or in `proxy`"),
    ("proxy_redirect", "`rewrite-location` in `proxy`, as in rewrite-location = { \"http://app:8080/\" = \"/\" }"),
    ("proxy_request_buffering", "`buffer-requests` in `proxy`"),
    ("proxy_send_timeout", "`transfer-timeout` in an [[upstream]], or in `proxy`"),
    ("proxy_set_header", "`set-header` in `proxy`; or `request-headers` of a [[site]] or [[site.route]]"),
    ("proxy_ssl_certificate", "`server-certificate` in an [[upstream]]"),
    ("proxy_ssl_trusted_certificate", "`server-ca` in an [[upstream]]"),
    ("proxy_ssl_verify", "`server-insecure` in an [[upstream]]; certificates are verified unless it is true"),
    ("proxy_temp_path", "the environment variable TMPDIR, for bodies of requests and responses"),
    ("random", "`balance` in an [[upstream]]"),
    ("real_ip_header", "`trust-header`, at the root; without it, X-Forwarded-For"),
    ("real_ip_recursive", "not needed: `trust` always skips the trusted addresses in X-Forwarded-For"),
    ("resolver", "not needed: names of servers are resolved with /etc/resolv.conf, again when they expire"),
    ("return", "`respond` or `redirect` in a [[site.route]]"),
    ("reuseport", "not needed: each worker has a socket of its own; `reuse-port` shares the port with other processes"),
    ("scgi_pass", "`proxy`, to an [[upstream]] with protocol = \"scgi\""),
    ("send_timeout", "`body-timeout`, at the root"),
    ("sendfile_max_chunk", "not needed: no connection keeps others waiting"),
    ("server", "[[site]]; a server of an upstream stands in `servers` of the [[upstream]]"),
    ("server_name", "`hosts` of a [[site]], as in hosts = [\"example.com\"]"),
    ("server_tokens", "not needed: responses have no field Server"),
    ("set", "not available: there are no variables"),
    ("set_real_ip_from", "`trust`, at the root"),
    ("ssl", "`tls`, at the root"),
    ("ssl_certificate", "`tls`, at the root, as in tls = [\"site.pem,site.key\"]"),
    ("ssl_certificate_key", "`tls`, at the root, as in tls = [\"site.pem,site.key\"]"),
    ("ssl_ciphers", "not needed: only secure cipher suites are used"),
    ("ssl_client_certificate", "`tls-client-ca`, at the root"),
    ("ssl_crl", "`tls-client-crl`, at the root"),
    ("ssl_dhparam", "not needed: keys are exchanged with elliptic curves"),
    ("ssl_early_data", "`early-data`, at the root, for HTTP/3"),
    ("ssl_prefer_server_ciphers", "not needed: only secure cipher suites are used"),
    ("ssl_protocols", "`tls-versions`, at the root"),
    ("ssl_reject_handshake", "`tls-unknown-name = \"refuse\"`, at the root"),
    (
        "ssl_session_cache",
        "not needed: sessions are resumed with tickets; `tls-ticket-secret` shares them among machines",
    ),
    ("ssl_session_ticket_key", "`tls-ticket-secret`, at the root"),
    (
        "ssl_session_tickets",
        "not needed: sessions are resumed with tickets; `tls-ticket-secret` shares them among machines",
    ),
    (
        "ssl_session_timeout",
        "not needed: sessions are resumed with tickets; `tls-ticket-secret` shares them among machines",
    ),
    ("ssl_stapling", "`tls-ocsp`, at the root, a file with the response of the authority"),
    ("ssl_trusted_certificate", "`tls-client-ca`, at the root"),
    ("ssl_verify_client", "`tls-client`, at the root"),
    ("stub_status", "`admin`, at the root, and serow status"),
    ("sub_filter", "not available: responses are sent as they are"),
    ("tcp_nodelay", "not needed: it is always on"),
    ("tcp_nopush", "not needed: heads and files are sent together"),
    ("try_files", "`missing = \"next\"` in `files`, and a route below for the other requests; or `spa` or `not-found`"),
    ("types", "`type` in `files`"),
    ("uwsgi_pass", "`proxy`, to an [[upstream]] with protocol = \"uwsgi\""),
    ("valid_referers", "not available: check the field in the application"),
    ("worker_connections", "`max-connections`, at the root"),
    (
        "worker_cpu_affinity",
        "`worker-cores`, at the root: `worker-cores = \"auto\"`, or a list of cores instead of masks",
    ),
    ("worker_processes", "`workers`, at the root"),
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
        let mut sorted = WORDS.to_vec();
        sorted.sort_unstable();
        assert_eq!(WORDS, sorted);
    }
}
