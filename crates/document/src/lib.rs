//! A settings file of [Serow](https://serow.example) as text and as a tree that knows where in the text each part
//! stands, the values in it, and the errors that point there. The meaning of the keys is the subject of the crate `serow-config`.
//!
//! | step | file |
//! | --- | --- |
//! | the text, and those of included files | `file.rs`, `include.rs`, `sources.rs`, `bundle.rs` |
//! | a tree, which knows the place of each part in the text | `document.rs`, `place.rs` |
//! | from a place to a line of a file: the span in the text, the file that has it, the line | `document.rs`, `sources.rs`, `fault.rs`, `excerpt.rs` |
//! | `${NAME}` of the environment in it | `environment.rs` |
//! | the tree as types, by serde | `deserializer.rs` |
//! | addresses, sizes, times, names and rules: types that are read from text | `values.rs`, `values/` |
//! | the keys of a table as a JSON schema | `shape.rs` |
//! | errors: noted with their places, and all shown at the end | `problem.rs`, `syntax.rs`, `names.rs`, `excerpt.rs`, `error.rs` |
#![forbid(unsafe_code)]

pub mod bundle;
pub mod deserializer;
mod document;
pub mod environment;
mod error;
mod excerpt;
mod fault;
pub mod file;
pub mod include;
pub mod names;
mod place;
pub mod printable;
mod problem;
mod shape;
mod sources;
mod syntax;
pub mod values;

pub use self::{
    document::{Document, Format, Part, Table, Value},
    error::ConfigurationError,
    fault::Fault,
    include::{Disk, Files},
    place::{Place, Step},
    problem::{Problem, Problems},
    shape::Shape,
    sources::Sources,
};
