//! The meaning of nginx's directives, in Serow's settings.

mod candidates;
mod catalog;
mod condition;
mod content;
mod distribution;
mod flow;
mod handler;
mod import;
mod listeners;
mod locations;
mod maps;
mod overlapping;
mod passing;
mod policies;
mod position;
mod process;
mod program_variables;
mod programs;
mod proxying;
mod redirects;
mod server;
mod server_routes;
mod text;
pub(crate) mod translation;
mod upstreams;
