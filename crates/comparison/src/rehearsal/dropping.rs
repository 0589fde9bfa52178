//! Directives that a rehearsal does not have.

use super::Making;
use serow_nginx_syntax::directive::Directive;

impl Making<'_> {
    /// Whether a rehearsal leaves a directive out.
    pub(super) fn is_dropped(&mut self, around: &str, directive: &Directive) -> bool {
        let name = directive.name();
        if matches!(around, "map" | "geo" | "split_clients" | "types") {
            return false;
        }
        if let ("stream" | "mail" | "rtmp", "") = (name, around) {
            self.note(format!("`{name}` is left out: only HTTP is compared"));
            return true;
        }
        if name == "ssl_verify_client" && directive.word(0) != Some("off") {
            self.note("no client certificates are asked for");
            return true;
        }
        if name == "load_module" {
            return directive.word(0).is_none_or(|path| !self.paths.exists(path));
        }
        if name.starts_with("geoip") {
            return directive.word(0).is_some_and(|path| path.starts_with('/') && !self.paths.exists(path));
        }
        if WRITING.contains(&name) {
            self.note("no request changes files: WebDAV and stored responses are left out");
            return true;
        }
        // The origins speak plain HTTP.
        if ["proxy_ssl_", "grpc_ssl_", "uwsgi_ssl_"].iter().any(|start| name.starts_with(start)) {
            return true;
        }
        if HANDSHAKE.contains(&name) {
            self.note("the versions, ciphers and curves of TLS are those of both servers' defaults");
            return true;
        }
        if is_of_tls(name) {
            return !self.has_tls
                || (is_optional_file(name) && directive.word(0).is_none_or(|path| !self.paths.exists(path)));
        }
        let is_temporary = name.ends_with("_temp_path");
        is_temporary || DROPPED.contains(&name) || (name == "open_log_file_cache")
    }
}

/// Directives that need certificates, or act on TLS alone.
fn is_of_tls(name: &str) -> bool {
    name.starts_with("ssl_") || name == "ssl"
}

/// Directives that the client of a comparison may not meet, whose keys are small.
const HANDSHAKE: &[&str] =
    &["ssl_protocols", "ssl_ciphers", "ssl_ecdh_curve", "ssl_conf_command", "ssl_prefer_server_ciphers"];

/// Files without which TLS works as well.
fn is_optional_file(name: &str) -> bool {
    OPTIONAL_FILES.contains(&name) || name.starts_with("ssl_stapling")
}

const OPTIONAL_FILES: &[&str] = &[
    "ssl_dhparam",
    "ssl_trusted_certificate",
    "ssl_client_certificate",
    "ssl_crl",
    "ssl_password_file",
    "ssl_session_ticket_key",
];

/// Directives by which requests change files, also those of an existing folder.
const WRITING: &[&str] = &[
    "dav_methods",
    "dav_ext_methods",
    "create_full_put_path",
    "proxy_store",
    "fastcgi_store",
    "uwsgi_store",
    "scgi_store",
];

const DROPPED: &[&str] = &[
    // The origins are on another address.
    "proxy_bind",
    "fastcgi_bind",
    "uwsgi_bind",
    "scgi_bind",
    "grpc_bind",
    "user",
    "pid",
    "daemon",
    "master_process",
    "lock_file",
    "error_log",
    "access_log",
    "resolver",
    "resolver_timeout",
    "working_directory",
    "worker_rlimit_nofile",
    "worker_rlimit_core",
    "worker_cpu_affinity",
    "worker_priority",
    "thread_pool",
    "google_perftools_profiles",
    "ssl_engine",
    "debug_points",
];
