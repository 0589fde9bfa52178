//! Directives that need no line in Serow's settings, and those that have no counterpart.

use serow_nginx_syntax::directive::Directive;

use crate::report::{Notes, Outcome};

/// Notes the outcome of all directives about which nothing is noted yet.
pub(crate) fn note_rest(notes: &Notes, directives: &[Directive]) {
    for directive in directives {
        if !notes.has(directive) {
            note(notes, directive);
        }
        note_rest(notes, directive.children());
    }
}

fn note(notes: &Notes, directive: &Directive) {
    let name = directive.name();
    if let Some(outcome) = of_value(name, directive.word(0).unwrap_or_default()) {
        return notes.add(directive, outcome);
    }
    if let Some((_, why)) = WITHOUT_LINE.iter().find(|(names, _)| has(names, name)) {
        return without_line(notes, directive, why);
    }
    if let Some((_, why)) = DIFFERING.iter().find(|(names, _)| has(names, name)) {
        return notes.differs(directive, *why);
    }
    if let Some(why) = without_counterpart(name) {
        return notes.lost_with_all(directive, why);
    }
    if let Some((_, why)) = UNUSED.iter().find(|(start, _)| name.starts_with(start)) {
        return without_line(notes, directive, why);
    }
    if !directive.children().is_empty() {
        notes.lost_with_all(directive, "the import does not know it");
    }
}

/// The outcome of a directive that Serow's own behaviour is like, except with this value.
fn of_value(name: &str, value: &str) -> Option<Outcome> {
    let differs = |why: &str| Some(Outcome::Differs(why.to_owned()));
    let lost = |why: &str| Some(Outcome::Lost(why.to_owned()));
    match (name, value.to_ascii_lowercase().as_str()) {
        ("merge_slashes", "off") => differs("Serow compares paths in which several slashes are one"),
        ("max_ranges", "0") => differs("ranges of files are sent all the same"),
        ("charset", "utf-8" | "off" | "utf8") => None,
        ("charset", _) => lost("Serow names no character encoding other than utf-8"),
        ("client_body_in_file_only", "on" | "clean") => lost("programs do not get the body of a request as a file"),
        _ => None,
    }
}

/// Whether a list of names has a name.
fn has(names: &str, name: &str) -> bool {
    names.split(' ').any(|listed| listed == name)
}

fn without_line(notes: &Notes, directive: &Directive, why: &str) {
    notes.no_line(directive, why);
    directive.children().iter().for_each(|inner| without_line(notes, inner, why));
}

/// Directives of a location that Serow has for the whole server.
const DIFFERING: &[(&str, &str)] = &[
    (
        "send_timeout client_header_timeout keepalive_timeout",
        "this time is that of the whole server: `body-timeout`, `head-timeout`, `idle-timeout`",
    ),
    ("set_real_ip_from real_ip_header", "the trusted proxies, and their field, are those of the whole server"),
];

/// The reason why a directive has no counterpart in Serow.
pub(crate) fn without_counterpart(name: &str) -> Option<&'static str> {
    let starts = |beginnings: &[&str]| beginnings.iter().any(|beginning| name.starts_with(beginning));
    if starts(&["vhost_traffic_", "ipscrub_", "more_", "pagespeed", "headers_more", "modsecurity"]) {
        return Some(OTHER_MODULE);
    }
    if name.contains("_by_lua") || name.starts_with("lua_") {
        return Some("Lua of OpenResty has no translation: docs/scripts.md explains Serow's scripts in Lua");
    }
    WITHOUT_COUNTERPART.iter().find(|(names, _)| has(names, name)).map(|(_, why)| *why)
}

/// Whether a directive without a counterpart makes the response of its location.
pub(crate) fn is_content(name: &str) -> bool {
    const CONTENT: &str = "stub_status empty_gif perl js_content dav_methods flv mp4 random_index content_by_lua \
         content_by_lua_block content_by_lua_file memcached_pass vhost_traffic_status_display upload_pass \
         nchan_subscriber nchan_publisher push_stream_subscriber rtmp_stat hls api srcache_fetch redis_pass \
         drizzle_pass echo";
    has(CONTENT, name)
}

/// Directives that act in a block around a handler that they have nothing to do with: an inherited `proxy_read_timeout` in a
/// server without a proxy.
const UNUSED: &[(&str, &str)] = &[
    ("proxy_", "no request is passed to a server here"),
    ("fastcgi_", "no request is passed to php-fpm here"),
    ("uwsgi_", "no request is passed to uWSGI here"),
    ("scgi_", "no request is passed to an SCGI server here"),
    ("grpc_", "no request is passed to a gRPC server here"),
    ("gzip", "Serow compresses text by default"),
    ("brotli", "Serow compresses text by default"),
    ("zstd", "Serow compresses text by default"),
    ("ssl_", "Serow has secure values without a setting"),
    ("open_file_cache", "Serow caches open files by default"),
    ("types_hash", "a size of nginx's tables"),
    ("variables_hash", "a size of nginx's tables"),
    ("map_hash", "a size of nginx's tables"),
    ("server_names_hash", "a size of nginx's tables"),
    ("proxy_headers_hash", "a size of nginx's tables"),
    ("add_header", "it is replaced in all locations, or no request gets there"),
    ("error_page", "it is replaced in all locations, or no request gets there"),
    ("access_log", "it is replaced in all locations, or no request gets there"),
    ("client_", "Serow has such a limit without a setting"),
];

const WITHOUT_LINE: &[(&str, &str)] = &[
    (
        "sendfile sendfile_max_chunk tcp_nopush tcp_nodelay aio aio_write directio directio_alignment \
         output_buffers postpone_output read_ahead send_lowat",
        "Serow sends files in the fastest way by itself",
    ),
    (
        "server_tokens etag if_modified_since merge_slashes absolute_redirect port_in_redirect \
         server_name_in_redirect msie_padding msie_refresh chunked_transfer_encoding max_ranges charset \
         source_charset charset_types override_charset ignore_invalid_headers underscores_in_headers",
        "Serow's own behaviour differs in no respect that matters here",
    ),
    (
        "keepalive_requests keepalive_disable keepalive_time keepalive_min_timeout reset_timedout_connection \
         lingering_close lingering_time lingering_timeout connection_pool_size request_pool_size \
         client_header_buffer_size large_client_header_buffers client_body_buffer_size \
         client_body_in_single_buffer client_body_temp_path subrequest_output_buffer_size preread_buffer_size",
        "Serow manages connections and buffers by itself",
    ),
    (
        "pid worker_rlimit_nofile worker_rlimit_core worker_priority worker_cpu_affinity worker_shutdown_timeout \
         daemon master_process lock_file timer_resolution pcre_jit thread_pool working_directory debug_points env \
         load_module worker_aio_requests error_log log_not_found log_subrequest open_log_file_cache quic_gso \
         quic_retry quic_bpf quic_host_key http3_hq http3_stream_buffer_size http3_max_concurrent_streams",
        "systemd, or Serow itself, does this: see docs/running.md",
    ),
    (
        "http2 http3 http2_push http2_push_preload http2_max_concurrent_streams http2_body_preread_size \
         http2_chunk_size http2_idle_timeout http2_max_field_size http2_max_header_size http2_max_requests \
         http2_recv_timeout http2_recv_buffer_size",
        "HTTP/2 and HTTP/3 are on by default",
    ),
    (
        "ssl ssl_session_cache ssl_session_timeout ssl_session_tickets ssl_ciphers ssl_prefer_server_ciphers \
         ssl_dhparam ssl_ecdh_curve ssl_buffer_size ssl_stapling ssl_stapling_verify ssl_trusted_certificate \
         ssl_conf_command",
        "TLS is secure by default: only current versions and cipher suites",
    ),
    ("recursive_error_pages", "the page of an error that a page has is Serow's own"),
    ("resolver resolver_timeout", "names are resolved with /etc/resolv.conf, and again when they expire"),
    ("gzip_static brotli_static zstd_static gunzip", "files compressed beforehand are sent by default"),
    (
        "limit_req_zone limit_conn_zone proxy_cache_path fastcgi_cache_path uwsgi_cache_path scgi_cache_path \
         log_format upstream valid_referers auth_request_set real_ip_recursive proxy_temp_path",
        "nothing in the settings names it",
    ),
    ("rewrite_log uninitialized_variable_warn log_escape_non_ascii", "it only concerns nginx's logs"),
    ("types", "Serow knows the usual media types"),
    (
        "internal default_type root alias index try_files satisfy expires auth_basic auth_basic_user_file allow \
         deny autoindex autoindex_exact_size autoindex_format autoindex_localtime disable_symlinks limit_except \
         auth_request set satisfy",
        "nothing here depends on it",
    ),
];

const OTHER_MODULE: &str = "it is a directive of a module that nginx itself does not have";

const WITHOUT_COUNTERPART: &[(&str, &str)] = &[
    ("stream", "Serow passes HTTP on, not TCP and UDP"),
    ("mail rtmp", "Serow speaks HTTP only"),
    (
        "sub_filter sub_filter_once sub_filter_types sub_filter_last_modified ssi ssi_types addition_types \
         add_before_body add_after_body image_filter image_filter_buffer image_filter_jpeg_quality \
         xslt_stylesheet",
        "Serow does not change the bodies of responses",
    ),
    (
        "dav_methods dav_access dav_ext_methods create_full_put_path min_delete_depth",
        "write = \"dav\" in `files` allows WebDAV: see docs/webdav.md",
    ),
    ("stub_status", "Serow's numbers are at its admin socket: `serow status`, GET /metrics"),
    ("mirror mirror_request_body", "mirror = { upstream = \"…\" } copies requests: see docs/proxy.md"),
    (
        "secure_link secure_link_md5 secure_link_secret",
        "Serow does not check signed links: a script can, or the application",
    ),
    ("geoip_country geoip_city geoip2 geoip_org geoip_proxy", "Serow does not know the countries of addresses"),
    ("slice", "the cache stores parts of large responses by itself"),
    ("mp4 flv mp4_buffer_size mp4_max_buffer_size", "Serow sends ranges of files, and does not change them"),
    (
        "perl perl_set perl_modules perl_require js_import js_content js_set js_path",
        "scripts of nginx have no translation: docs/scripts.md explains Serow's",
    ),
    ("random_index empty_gif", "Serow has no such content"),
    (
        "pagespeed modsecurity modsecurity_rules_file modsecurity_rules more_set_headers more_clear_headers \
         more_set_input_headers headers_more vhost_traffic_status vhost_traffic_status_zone",
        OTHER_MODULE,
    ),
    ("auth_delay", "a wrong password has no delay: bound the number of attempts with `limits`"),
    ("http events", "it stands in another block, where nginx refuses it"),
    ("include", "the file is missing"),
];
