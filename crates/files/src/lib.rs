//! A folder as a handler.
//!
//! [`Files`] serves what lies in a folder as nginx, h2o and Caddy do: index files, listings, media types, conditional
//! requests and ranges, caching rules, compression beforehand or on the way, rewrites, a fallback for single-page
//! applications, a page for what is missing. [`FilesSettings`] says how.
//!
//! # The way of a request
//!
//! | step | file |
//! | --- | --- |
//! | the path is looked up as it came; an answer younger than a second needs no system call | `lookup.rs`, `cache.rs` |
//! | else it is decoded, checked and rewritten | `request_path.rs`, `rewrite.rs` |
//! | opened beneath the root, by the kernel's rules | `root.rs` |
//! | read as one version of the file, if it is small | `stable_read.rs` |
//! | and prepared in all forms, with their header fields | `resource.rs`, `representation.rs` |
//! | one form is chosen by Accept-Encoding | `coding.rs`, `resource.rs` |
//! | conditions are evaluated, ranges cut | `precondition.rs`, `ranges.rs` |
//! | large bodies are sent from the file, copied, compressed or in parts | `copied_range.rs`, `compression.rs`, `multipart.rs` |
//!
//! # Whole or not at all
//!
//! Every response is of one version of a file. Small files are read so that no writer can have mixed into them; large
//! ones carry the version they were announced as, and whoever sends them cuts the connection if the file changes on the
//! way. The exceptions: files changed through shared memory maps, whose times the kernel renews late; and pages of a
//! large file handed to the network already (see [`FilesSettings::zero_copy`]).
//!
//! # What it does not send
//!
//! No `X-Content-Type-Options`: types come from a table, what is unknown is `application/octet-stream`, which browsers do
//! not look into (WHATWG MIME Sniffing §7), and no answer repeats what a client sent but for the path of a listing,
//! escaped. Sites that show what strangers uploaded want it together with a Content-Security-Policy: a layer around this
//! handler adds both. No `Content-Location` either: an index is served as what its folder is.
//!
//! # Without waiting
//!
//! System calls on files are made where the request is handled, as nginx does: the pages are in memory or soon will be.
//! Everything long is cut into pieces between which other requests have their turn: copying, compressing, listing. Who
//! reads a file that was written less than two seconds ago waits for the `write` in progress, if there is one.
#![forbid(unsafe_code)]

mod cache;
mod clock;
mod coding;
mod compression;
mod copied_range;

mod error;
mod files;
mod freshness;
mod listing;
mod location;
mod lookup;
mod media_type;
mod multipart;
mod not_found;
mod pieces;
mod precondition;
mod ranges;
mod representation;
mod request_path;
mod resource;
mod rewrite;
mod root;
mod send;
mod settings;
mod site;
mod stable_read;

mod unopened;
mod validator;

pub use serow_message::Pattern;

pub use self::{
    clock::Clock,
    coding::Coding,
    error::FilesError,
    files::Files,
    freshness::{Freshness, FreshnessRule},
    request_path::Hidden,
    rewrite::Rewrite,
    root::Symlinks,
    settings::{CacheLimits, Compression, FilesSettings, Listing},
};
