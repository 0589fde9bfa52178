//! The grammar of nginx's configuration files: words, quotes, escapes, comments, blocks, included files.

pub mod alias;
pub mod directive;
pub mod disk;
pub mod error;
mod lua;
pub mod place;
pub mod reading;
pub mod token;
