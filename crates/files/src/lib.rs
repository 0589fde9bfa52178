//! A folder as a handler.
//!
//! [`Files`] serves what lies in a folder as nginx, h2o and Caddy do: index files, listings, media types, conditional
//! requests and ranges, caching rules, compression beforehand or on the way, rewrites, a fallback for single-page
//! applications, a page for what is missing. [`FilesSettings`] says how.
//!
//! # Life of a request
//!
//! | step | file |
//! | --- | --- |
//! | `Files::respond` refuses methods other than GET and HEAD, and calls `Lookup::find` | `files.rs` |
//! | the cache knows the undecoded path; an entry younger than a second needs no system call | `lookup.rs`, `cache.rs` |
//! | on a cache miss the path is decoded, checked and rewritten | `request_path.rs`, `rewrite.rs` |
//! | the root is opened, unless it was a moment ago for this request or another | `open_folders.rs` |
//! | the file is opened beneath the root, which the kernel enforces; links may leave it only where the settings say so | `root.rs`, `owned_links.rs` |
//! | source code and keys are not sent | `withheld.rs` |
//! | a small file is read as one version | `stable_read.rs` |
//! | all its forms are prepared, with their header fields | `resource.rs`, `representation.rs` |
//! | Accept-Encoding selects one form; a large file that has changed in the meantime is looked up again | `lookup.rs`, `resource.rs`, the crate `serow-coding` |
//! | conditions are evaluated, ranges cut, and the response is built | `send.rs`, `representation.rs`, `precondition.rs`, `ranges.rs` |
//! | large bodies are sent from the file, copied, compressed or in parts | `copied_range.rs`, `compression.rs`, `multipart.rs` |
//! | without a file: a redirect, a listing, the "not found" page or an error status; the log says why | `files.rs`, `listing.rs`, `not_found.rs`, `examined.rs` |
//!
//! # Consistent responses
//!
//! Every response contains one version of a file. Small files are read so that a concurrent writer cannot have mixed
//! two versions; the body of a large file carries the version that its head announced, and the server closes the
//! connection if the file changes while it is sent. There are two exceptions: files changed through shared memory
//! maps,
//! whose times the kernel updates late; and pages of a large file already handed to the network (see
//! [`FilesSettings::zero_copy`]).
//!
//! # Header fields it does not send
//!
//! `X-Content-Type-Options`: types come from a table, unknown ones are `application/octet-stream`, which browsers
//! do not
//! sniff (WHATWG MIME Sniffing §7), and responses do not repeat client input, except for the escaped path of a
//! listing.
//! Sites that show uploads of untrusted users need it together with a Content-Security-Policy: a layer around this
//! handler adds both. `Content-Location`: an index is served as the representation of its folder.
//!
//! # Blocking
//!
//! System calls on files are made on the thread that handles the request, as in nginx: the pages are in memory or
//! soon
//! will be. Long work is cut into pieces between which other requests get their turn: copying, compressing, listing.
//! Reading a file that was written less than two seconds ago waits for a `write` in progress, if there is one.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure real time"))]

mod cache;
mod clock;
mod compression;
mod copied_range;
mod error;
mod examined;
mod files;
mod folder;
mod freshness;
mod listing;
mod location;
mod lookup;
mod media_type;
mod multipart;
mod not_found;
mod open_folders;
mod owned_links;
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
mod withheld;

pub use serow_coding::{Coding, CompressibleTypes, Levels};
pub use serow_message::Pattern;

pub use self::{
    clock::Clock,
    error::FilesError,
    examined::{Examined, Missing},
    files::Files,
    folder::Folder,
    freshness::{Freshness, FreshnessRule},
    location::redirect_target,
    open_folders::max_open_folders,
    request_path::{Hidden, PathRefused, RequestPath, UPLOAD_PREFIX},
    rewrite::Rewrite,
    root::{Located, OpenError, OpenFile, Opened, Root, Symlinks, below, real_path},
    settings::{CacheLimits, Compression, FilesSettings, Listing},
    validator::{EntityTag, tags},
    withheld::Sensitive,
};
