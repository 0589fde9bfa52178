//! Changes of a served folder by its clients: WebDAV, classes 1 and 2 (RFC 4918), or uploads only.
//!
//! [`Dav`] is a handler around [`Files`](serow_files::Files), which answers GET and HEAD.
//!
//! # Life of a request
//!
//! | step | file |
//! | --- | --- |
//! | `Dav::respond` passes GET and HEAD to `Files`, and selects the function for each other method | `dav.rs` |
//! | the path of the request, and that of `Destination`, become paths below the folder | `writable_folder.rs`, `dav_site.rs`, `destination.rs` |
//! | header fields and XML are parsed, without any I/O | `depth.rs`, `timeout.rs`, `if_header.rs`, `conditions.rs`, `element.rs`, `bodies.rs` |
//! | paths that are another route's, and names that no client may give, are refused | `path_scope.rs`, `new_name.rs` |
//! | on a thread that may wait for the disk, the folder around the path is opened, beneath the root | `blocking.rs`, `member.rs` |
//! | conditions are evaluated, and locks | `conditions.rs`, `locks.rs` |
//! | forms of other sites are refused, and the quota is counted | `same_origin.rs`, `quota.rs` |
//! | PUT receives the body into a file without a name, checks again, and gives it the name | `put.rs`, `piece.rs`, `disk.rs`, `upload.rs` |
//! | other methods | `structure.rs`, `transfer.rs`, `tree.rs`, `locking.rs`, `propfind.rs`, `proppatch.rs` |
//! | properties are computed, or read from an extended attribute | `properties.rs`, `dead_properties.rs` |
//! | a refusal becomes a response, with a condition of RFC 4918 §16 if there is one for it | `refusal.rs`, `multistatus.rs` |
//!
//! # Access of clients
//!
//! Clients reach nothing outside the folder: all paths are resolved as for reading (`serow_files::Root`), and changes
//! follow no symbolic link at all below the folder, so that a file has one path, and its lock as well. Names that are
//! not served (hidden files) can neither be created nor removed; a folder with such names cannot be deleted.
//! `.well-known` can be read.
//!
//! Nor do they reach paths that belong to another route of the site, which may have other rules: the server asks the
//! router about the path of a request, and [`PathScope`] about each other path that the request reads, lists or
//! changes.
//!
//! # Visibility of changes
//!
//! A file is visible when it is complete: an upload or copy is renamed in one step. Locks are in the memory of this
//! process: all threads share them, and a process that replaces this one begins without locks, so that a client whose
//! lock is lost gets 412 for its next change.
#![forbid(unsafe_code)]

mod blocking;
mod bodies;
mod conditions;
mod dav;
mod dav_site;
mod dead_properties;
mod depth;
mod destination;
mod disk;
mod element;
mod if_header;
mod locking;
mod locks;
mod member;
mod methods;
mod multistatus;
mod new_name;
mod path_scope;
mod piece;
mod properties;
mod propfind;
mod proppatch;
mod put;
mod quota;
mod refusal;
mod same_origin;
mod settings;
mod structure;
mod timeout;
mod transfer;
mod tree;
mod upload;
mod writable_folder;
mod xml_body;

pub use self::{
    bodies::{LockRequest, PropertyChange, PropertyQuery},
    dav::Dav,
    dav_site::DavSite,
    depth::{Depth, InvalidDepth},
    destination::{DestinationError, local_path},
    element::{Element, Name, Node, XmlError, escape},
    if_header::{Condition, IfHeader, IfList, InvalidIf, ResourceState},
    locks::{Change, Lock, LockRefused, LockTable},
    path_scope::PathScope,
    settings::{WriteMode, WriteSettings},
    timeout::{MAX_TIMEOUT, lock_timeout},
};
