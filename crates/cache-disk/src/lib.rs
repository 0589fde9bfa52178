//! Stored responses in files, so that they outlive the process.
//!
//! ```text
//! folder/owner         which server uses the folder, and from which version on
//!        purges        purges that concern more than one file, a line each
//!        new/…         files that are being written
//!        00/ … ff/     a file for each URI, named by a digest of its key; beside it, a file for each content that is too
//!                      large for memory, with its number after the name
//! ```
//!
//! A file is written in `new` and renamed when it is whole, so a crash leaves the one before or the new one. It is created
//! before it is needed, without a name, since that may take long. Nothing has to be read at the start: a response is looked
//! for when a request asks for it. A thread writes files and removes those that were used least recently.
//!
//! | what | file |
//! | --- | --- |
//! | the folder, and its files | `folder.rs`, `file_name.rs` |
//! | files that nobody sees yet; those that are created before they are needed | `new_files.rs`; `spare_files.rs` |
//! | who uses it | `claim.rs` |
//! | purges that concern more than one file | `purge_log.rs` |
//! | what is kept, found and removed while the server runs | `disk_store.rs`, `pending.rs` |
//! | contents that are too large for memory | `content_file.rs` |
//! | the room that all take; whether the disk fails | `disk_space.rs`; `disk_health.rs` |
//! | the thread that writes | `disk_thread.rs` |
//! | how much there is, and what is removed | `sweep.rs` |
#![forbid(unsafe_code)]

mod claim;
mod content_file;
mod disk_health;
mod disk_space;
mod disk_store;
mod disk_thread;
mod file_name;
mod folder;
mod new_files;
mod pending;
mod purge_log;
mod spare_files;
mod sweep;

pub use self::{
    disk_store::{DiskCounts, DiskStore},
    disk_thread::DiskThread,
    folder::{FolderError, prepare},
};
