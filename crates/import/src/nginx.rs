//! The meaning of nginx's directives, in Serow's settings.

mod catalog;
mod condition;
mod content;
mod flow;
mod handler;
pub(crate) mod import;
mod listeners;
mod locations;
mod maps;
mod matching;
mod pattern;
mod policies;
mod process;
mod programs;
mod proxying;
mod redirects;
mod route;
mod scope;
mod server;
mod text;
mod tidying;
mod units;
mod upstreams;
