//! Programs that answer requests, in the way of their language: php-fpm, CGI, and servers of HTTP that Serow starts.
//!
//! | program | module |
//! | --- | --- |
//! | php-fpm, started and watched by Serow | [`fpm`] |
//! | a folder of PHP scripts, run by php-fpm | [`php`] |
//! | any program that serves HTTP | [`commands`] |
//! | CGI programs: a process for each request | [`cgi`] |
//!
//! Applications in workers that speak Serow's own protocol (Rack, PSGI, WSGI, ASGI) are in the crate `serow-apps`.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure real time"))]

pub mod cgi;
pub mod commands;
pub mod fpm;
pub mod php;
