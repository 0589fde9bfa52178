//! Settings files of [Serow](https://serow.example) from an nginx.conf, with a report about each of its lines.
//!
//! | step | file |
//! | --- | --- |
//! | the text, with the files that it includes, becomes a tree of directives | crate `serow-nginx-syntax` |
//! | the servers, their addresses, names and certificates become sites | `nginx/translation.rs`, `nginx/listeners.rs`, `nginx/server.rs` |
//! | the locations are put into the order in which routes have the effect of nginx's choice | `nginx/locations.rs`, `nginx/server_routes.rs` |
//! | the directives of a location that act in an order, such as `if` and `rewrite`, become routes | `nginx/flow.rs`, `nginx/redirects.rs` |
//! | its content becomes a handler: files, a proxy, PHP | `nginx/content.rs`, `nginx/candidates.rs`, `nginx/proxying.rs`, `nginx/programs.rs` |
//! | variables of maps, shares and networks become maps | `nginx/maps.rs`, `nginx/distribution.rs` |
//! | directives that it inherits become the settings around the handler | `nginx/policies.rs`, `nginx/policies/` |
//! | settings move to where a person would write them, and become text | crate `serow-settings-writer` |
//! | each directive has a line in the report; one that nothing was noted about is lost | `report.rs`, `nginx/catalog.rs` |
#![forbid(unsafe_code)]

mod nginx;
pub mod report;

use std::path::Path;

use self::report::Report;
use serow_nginx_syntax::{
    error::ImportError,
    place::Place,
    reading::{self, Files},
};

/// The outcome of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The text of the settings file.
    pub settings: String,
    /// Where each table of it begins, and the directive that it comes from.
    origins: Vec<(usize, Option<Place>)>,
    /// The outcome of each directive.
    pub report: Report,
}

impl Imported {
    /// The directive that the settings at an offset of the text come from: a location, a server, an upstream.
    #[must_use]
    pub fn origin(&self, offset: usize) -> Option<&Place> {
        self.origins.iter().rev().find(|(start, _)| *start <= offset)?.1.as_ref()
    }
}

/// Translates an nginx.conf, or a file with `server` blocks as in `sites-enabled`.
///
/// `prefix` is the folder at which relative paths start: that of the main file, unless nginx was built with another.
///
/// # Errors
///
/// The first error of syntax, with its file and line, and the first included file that cannot be read.
pub fn nginx(main: &Path, prefix: &Path, files: &(impl Files + ?Sized)) -> Result<Imported, ImportError> {
    let (directives, count) = reading::read(main, prefix, files)?;
    let (written, report) = nginx::translation::translate(&directives, count, prefix);
    Ok(Imported { settings: written.text, origins: written.origins, report })
}
