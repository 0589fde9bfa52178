//! The admin endpoint of [Serow](serow): a small HTTP server beside the server, on a unix socket or a port of this
//! machine. It reports the status as JSON and for Prometheus, lists the servers of upstreams, reloads and drains, and
//! takes servers out of rotation and back. [`AdminClient`] is the other end, as `serow status`, `reload`, `drain`, `up`
//! … use it.
//!
//! | subject | file |
//! | --- | --- |
//! | the endpoint: a second server, on a thread of its own | `endpoint.rs`, `pages.rs` |
//! | what it reports on: this process, or the sum of all generations | `subject.rs`, `total.rs` |
//! | where the numbers come from; as JSON, and for Prometheus | `sources.rs`; `document.rs`, `metrics.rs`, `server_metrics.rs` |
//! | applications: the sum of all generations; for Prometheus | `applications.rs`; `application_metrics.rs` |
//! | copies of requests: as JSON, for Prometheus, as a table | `mirrors.rs` |
//! | bans, and what limits decide: as JSON, for Prometheus, as tables; commands for bans | `bans.rs`, `access.rs`; `ban_command.rs` |
//! | the cache: as JSON, for Prometheus, as lines; what it holds; commands that purge it | `cache.rs`; `cache_inquiry.rs`; `purge_command.rs` |
//! | automatic certificates: as a table; for Prometheus | `certificate_table.rs`; `certificate_metrics.rs` |
//! | upstream servers: as a page and as Tengine lists them; the sum of all generations | `upstreams.rs`; `servers.rs` |
//! | commands for upstream servers, and the token that they need over TCP | `server_command.rs`, `token.rs` |
//! | commands for maintenance | `maintenance_command.rs` |
//! | commands for all servers of a fleet | `fleet_command.rs`, `fleet_pages.rs` |
//! | settings files that are added to a server | `added_settings.rs`, `added_folder.rs`, `config_pages.rs` |
//! | a line of the error log for each change | `audit.rs` |
//! | the meaning of each field of the status | `fields.rs` |
//! | the client for added settings files | `config_client.rs` |
//! | the client, its requests, and the status for people | `client.rs`, `admin_request.rs`, `summary.rs`, `server_table.rs`, `application_table.rs`, `running_table.rs`, `table.rs`, `units.rs` |
#![forbid(unsafe_code)]

mod access;
mod added_folder;
mod added_settings;
mod admin_request;
mod application_metrics;
mod application_table;
mod applications;
mod audit;
mod ban_command;
mod bans;
mod cache;
mod cache_inquiry;
mod certificate_metrics;
mod certificate_table;
mod client;
mod client_error;
mod config_client;
mod config_pages;
mod containers;
mod counted_routes;
mod document;
mod endpoint;
mod error;
#[cfg(test)]
mod exposition;
mod fields;
mod fleet;
mod fleet_command;
mod fleet_pages;
mod fleet_servers;
mod histogram;
mod maintenance_command;
mod metric_head;
mod metrics;
mod mirrors;
mod pages;
mod purge_command;
mod route_metrics;
mod running_table;
mod server_command;
mod server_metrics;
mod server_table;
mod servers;
mod sources;
mod subject;
mod summary;
mod table;
mod token;
mod total;
mod units;
mod upstreams;

pub use serow_config::{AddedFileName, AddedFileNameError};

pub use self::{
    access::AccessCounts,
    added_settings::{AddedSettings, ChangeRefusal, Precondition, SettingsChange},
    ban_command::{BanAction, BanCommand},
    cache_inquiry::{CacheInquiry, CacheOrder},
    client::{AdminClient, LastOrder, ServerIdentity},
    client_error::AdminClientError,
    config_client::{AddedFile, ListedFile, StoredFile},
    config_pages::SharedAddedSettings,
    counted_routes::CountedRoutes,
    endpoint::AdminEndpoint,
    error::AdminError,
    fields::FIELDS,
    fleet_command::{FleetBan, FleetCommand, FleetOutcome, FleetRequest},
    maintenance_command::{MaintenanceCommand, MaintenanceState},
    purge_command::{PurgeCommand, PurgedResponses},
    server_command::{Action, ServerCommand},
    sources::Sources,
    subject::Subject,
    table::lines as table_lines,
    total::add_ended,
};
