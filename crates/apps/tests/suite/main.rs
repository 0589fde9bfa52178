//! Applications as clients see them, through servers in this process.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(clippy::disallowed_methods, reason = "tests measure real time")]

mod asgi;
mod asgi_frameworks;
mod asgi_websocket;
mod asgi_websocket_compression;
mod attempts;
mod crashes;
mod files;
mod forks;
mod frameworks;
mod interpreters;
mod long_heads;
mod misbehaving;
mod mounted;
mod output;
mod php;
mod php_frameworks;
mod php_uploads;
mod proxies;
mod psgi;
mod python;
mod rack;
mod rack_3;
mod rack_bodies;
mod rack_collections;
mod rack_frameworks;
mod rack_refork;
mod rack_responses;
mod rack_sockets;
mod response_fields;
mod slow_readers;
mod support;
mod time_limits;
mod uploads;
mod wsgi;
