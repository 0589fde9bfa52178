//! Routes in added settings files of [Serow](https://serow.example), as `serow route` adds, changes and removes them: texts
//! in, texts out. The routes of a host are in an added file that is named after it.
//!
//! ```
//! use serow_route_settings::{FileChange, add_route};
//!
//! let address = "shop.example/api".parse()?;
//! let text = r#"[[site]]
//! hosts = ["shop.example"]
//!
//! [[site.route]]
//! path = ["/api", "/api/*"]
//! proxy = { servers = "127.0.0.1:9000" }
//! "#;
//! assert_eq!(add_route(None, &address, &"127.0.0.1:9000".parse()?).unwrap(), FileChange::Put(text.to_owned()));
//! # Ok::<(), String>(())
//! ```
//!
//! | subject | file |
//! | --- | --- |
//! | a change of the file: a route is added or removed | `file_change.rs` |
//! | the file as a document that keeps comments and other keys; a site in it, and the order of its routes | `document.rs`; `site.rs` |
//! | host and path of a route, and the patterns of paths that stand for them | `address.rs` |
//! | where a route leads | `target.rs` |
//! | the routes of several files | `listing.rs` |
//! | errors | `error.rs` |
#![forbid(unsafe_code)]

mod address;
mod document;
mod error;
mod file_change;
mod listing;
mod site;
mod target;

pub use self::{
    address::RouteAddress,
    error::RouteError,
    file_change::{FileChange, add_route, remove_route},
    listing::{ListedRoute, RouteListing},
    target::RouteTarget,
};
