//! The syntax of nginx's configuration files, apart from the meaning of directives.
//!
//! | subject | file |
//! | --- | --- |
//! | words, quotes, escapes and comments; blocks of Lua | `token.rs`, `lua.rs` |
//! | directives and their blocks, with included files | `reading.rs`, `directive.rs`, `disk.rs` |
//! | the place of a directive, and errors of syntax | `place.rs`, `error.rs` |
//! | regular expressions of PCRE, as the crate `regex` has them | `pattern.rs`, `lookaround.rs` |
//! | blocks around a directive, from which it inherits | `scope.rs` |
//! | durations and sizes | `units.rs` |
//! | whether an `alias` is a file | `alias.rs` |
#![forbid(unsafe_code)]

pub mod alias;
pub mod directive;
pub mod disk;
pub mod error;
mod lookaround;
mod lua;
pub mod pattern;
pub mod place;
pub mod reading;
pub mod scope;
pub mod token;
pub mod units;
