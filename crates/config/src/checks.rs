//! Settings that are well-formed and mean nothing, alone or together, as far as the tables alone show.

mod acme;
mod admin;
mod application;
mod folder;
mod health;
mod redis_prefix;
mod root;
mod sites;
mod tls;
mod upstream;

pub use self::{
    acme::acme,
    admin::admin,
    application::{application, interface, interface_by_name, lifetime, program},
    folder::folder,
    redis_prefix::redis_prefix,
    root::{CheckedTables, account, check},
    sites::{app_problem, served_folder},
    tls::{certificate_names, tls},
    upstream::upstream,
};
