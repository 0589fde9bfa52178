//! The command `serow` as users run it.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(clippy::disallowed_methods, reason = "tests measure real time")]

mod access;
mod access_log;
mod admin;
mod admin_defaults;
mod applications;
mod bans;
#[cfg(feature = "bench")]
mod bench;
mod cache;
mod cache_files;
mod cache_ignored_fields;
mod cache_parts;
mod cache_routes;
mod certificates_dns;
mod cgi;
mod client_addresses;
mod client_certificates;
mod configuration;
mod descriptors;
mod error_routes;
mod forged_addresses;
mod forward_auth;
mod header_rules;
mod help;
mod init;
mod internal_routes;
mod kept_certificate;
mod limits;
mod login;
mod maintenance;
mod mirrors;
mod mistakes;
mod options;
mod php;
mod proxy;
mod purge;
mod rates;
mod reasons;
mod request_ids;
mod responses;
mod rewrites;
mod rewriting;
mod route_logs;
mod route_metrics;
mod run;
mod running;
mod sandbox;
mod site_listeners;
mod start;
mod starting;
mod static_files;
mod stopping;
mod supervise;
mod terminal;
mod tls;
mod tls_clients;
mod tokens;
mod upload_form;
mod uploads;
mod upstreams;
mod versions;
#[cfg(feature = "bench")]
mod waterfall;
mod worker_cores;
