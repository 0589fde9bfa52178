//! Routes to containers, from their labels, as they start and stop.
//!
//! | subject | file |
//! | --- | --- |
//! | what the API of Docker and Podman says, and the container that it means | `api.rs`, `timestamp.rs`, `container.rs` |
//! | labels as wanted routes: Serow's own, and the common ones of Traefik with their rules | `labels.rs`, `labels/serow.rs`, `labels/traefik.rs`, `labels/rule.rs` |
//! | the value of the settings that a label means | `label_value.rs` |
//! | the routes of all containers, by host; which of them are refused | `plan.rs`, `taken.rs` |
//! | the settings file of a host | `site_text.rs` |
//! | which files have to change, and when: containers that leave, restart in a loop, or come back | `routes.rs`, `routes/damping.rs` |
//! | which servers accept connections | `routes/probes.rs` |
//! | containers that are about to start | `pending.rs` |
//!
//! These files are pure: they do no I/O and ask no clock. Times are since any fixed moment, and arguments. Labels are bytes of
//! strangers: all values are checked, and no text of a label is a part of the settings but as a string of TOML.
//!
//! | subject | file |
//! | --- | --- |
//! | requests to the API, over a unix socket or TCP | `connection.rs` |
//! | the thread that follows events and has files changed | `watcher.rs` |
//! | what the status says | `report.rs` |
#![forbid(unsafe_code)]

mod api;
mod connection;
mod container;
mod label_value;
mod labels;
mod pending;
mod plan;
mod report;
mod routes;
mod settings;
mod site_text;
mod taken;
mod timestamp;
mod watcher;

pub use self::{
    connection::ApiAddress,
    report::{ContainersReport, SharedReport},
    routes::FILE_PREFIX,
    settings::{AllowedKeys, ContainerSettings, HostPattern, LabelKinds},
    taken::TakenHosts,
    watcher::{RouteSink, SinkError, WatcherThread},
};
