//! The meaning of nginx's directives, in Serow's settings.

mod catalog;
mod condition;
mod content;
mod flow;
mod handler;
mod import;
mod listeners;
mod locations;
mod maps;
mod matching;
mod pattern;
mod policies;
mod position;
mod process;
mod program_variables;
mod programs;
mod proxying;
mod redirects;
mod route;
mod scope;
mod server;
mod server_routes;
mod text;
mod tidying;
pub(crate) mod translation;
mod units;
mod upstreams;
